package mask

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	m := New([]string{
		"ANTHROPIC_API_KEY=plain-value-1", "DB_PASSWORD=hunter2hunter2", "LONG_TOKEN=plain-value-1-and-more",
		"HOME=/home/somebody", "SHORT_KEY=1", "EMPTY_TOKEN=", "ODD_SECRET",
	})
	tests := map[string]struct{ text, want string }{
		"nothing":            {"listening on port 1 in /home/somebody", "listening on port 1 in /home/somebody"},
		"EN-02 header":       {"Authorization: Bearer sk-test-0123456789abcdef", "Authorization: [masked] [masked]"},
		"bearer alone":       {"sent bearer abc.def.ghi ok", "sent bearer [masked] ok"},
		"known value":        {"key is plain-value-1.", "key is [masked]."},
		"one inside another": {"plain-value-1-and-more", "[masked]"},
		"password":           {"login hunter2hunter2 refused", "login [masked] refused"},
		"url":                {"proxy http://user:pass@host:1/x", "proxy http://[masked]host:1/x"},
		"openai":             {"invalid sk-proj-AbCdEf0123456789 given", "invalid [masked] given"},
		"github":             {"ghp_0123456789abcdefABCDEF", "[masked]"},
		"google":             {"key=AIzaSyA0123456789012345678901234567890", "key=[masked]"},
		"aws":                {"AKIAIOSFODNN7EXAMPLE", "[masked]"},
		"jwt":                {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def", "[masked]"},
		"json":               {`{"apiKey":"verysecret","model":"x"}`, `{"apiKey":"[masked]","model":"x"}`},
		"assignment":         {"OPENAI_API_KEY=verysecret next", "OPENAI_API_KEY=[masked] next"},
		"counts stay":        {"used 123456 tokens: fine", "used 123456 tokens: fine"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := m.Text(tt.text); got != tt.want {
				t.Errorf("Text(%q) = %q; want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestTextIsStable(t *testing.T) {
	m := New([]string{"A_KEY=abcdef"})
	text := strings.Repeat("token=abcdef Bearer abcdefghij ", 3)
	once := m.Text(text)
	if twice := m.Text(once); twice != once {
		t.Errorf("masking twice = %q; want %q", twice, once)
	}
	if strings.Contains(once, "abcdef") {
		t.Errorf("Text left a secret: %q", once)
	}
}
