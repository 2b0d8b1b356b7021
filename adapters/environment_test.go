package adapters

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentos/protocol"
)

func TestEnvironment(t *testing.T) {
	tests := map[string]struct {
		base, names []string
		set         map[string]string
		want        []string
	}{
		"nothing": {nil, nil, nil, []string{}},
		"everyone's": {
			[]string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_DATA_HOME=/d", "SSL_CERT_FILE=/c", "https_proxy=p", "TZ=UTC"}, nil, nil,
			[]string{"HOME=/h", "LC_ALL=C", "PATH=/bin", "SSL_CERT_FILE=/c", "TZ=UTC", "XDG_DATA_HOME=/d", "https_proxy=p"},
		},
		"nobody's":           {[]string{"RT_API_TOKEN=1", "DATABASE_URL=2", "AWS_SECRET_ACCESS_KEY=3", "PATHS=4", "LC=5", "NODE_OPTIONS=6"}, nil, nil, []string{}},
		"listed":             {[]string{"GEMINI_API_KEY=1", "OPENAI_API_KEY=2"}, []string{"GEMINI_API_KEY", "ABSENT"}, nil, []string{"GEMINI_API_KEY=1"}},
		"given":              {[]string{"PATH=/bin"}, nil, map[string]string{"PATH": "/mine", "A": ""}, []string{"A=", "PATH=/mine"}},
		"the last one wins":  {[]string{"PATH=/a", "PATH=/b"}, nil, nil, []string{"PATH=/b"}},
		"odd values pass":    {[]string{"TERM=a=b\nc"}, nil, map[string]string{"F": "() {\n a\n}"}, []string{"F=() {\n a\n}", "TERM=a=b\nc"}},
		"odd names of base":  {[]string{"=C:=x", "NOVALUE", "BASH_FUNC_m%%=() { :; }"}, nil, nil, []string{}},
		"own stay here":      {[]string{"AGENTOS_DATA=/d", "AGENTOS_VM=x", "AGENTOS_SCRIPTED_DIR=/s"}, nil, nil, []string{}},
		"scripted's is seen": {[]string{"AGENTOS_DATA=/d", "AGENTOS_SCRIPTED_DIR=/s"}, []string{"AGENTOS_SCRIPTED_DIR"}, nil, []string{"AGENTOS_SCRIPTED_DIR=/s"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Environment(tt.base, tt.names, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEN04_EnvironmentRefusesByName(t *testing.T) {
	tests := map[string]struct {
		names []string
		set   map[string]string
		word  string
	}{
		"NUL in a value":     {nil, map[string]string{"ODD": "se\x00cret"}, "ODD"},
		"= in a name":        {nil, map[string]string{"A=B": "1"}, "A=B"},
		"no name":            {nil, map[string]string{"": "1"}, `""`},
		"listed without one": {[]string{""}, nil, `""`},
		"own, given":         {nil, map[string]string{"AGENTOS_TOKEN": "1"}, "AGENTOS_TOKEN"},
		"own, listed":        {[]string{"AGENTOS_TOKEN"}, nil, "AGENTOS_TOKEN"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Environment([]string{"AGENTOS_TOKEN=secret"}, tt.names, tt.set)
			if protocol.CodeOf(err) != protocol.CodeInvalidArgument || !strings.Contains(err.Error(), tt.word) {
				t.Fatalf("Environment = %v; want %s naming %s", err, protocol.CodeInvalidArgument, tt.word)
			}
			if strings.Contains(err.Error(), "cret") {
				t.Errorf("error %q shows a value", err)
			}
		})
	}
}
