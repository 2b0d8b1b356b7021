package peers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// post sends body to the mock and returns the status and the answer.
func post(t *testing.T, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func chat(t *testing.T, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestMock_EveryAPINamesTheTagsItSaw(t *testing.T) {
	llm := StartLLM(t)
	for _, c := range []struct{ path, body, where string }{
		{"/v1/messages", `{"messages":[{"role":"user","content":"hello #one"}]}`, "text"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"hello #one"}]}`, "content"},
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"hello #one"}]}]}`, "text"},
		{"/v1beta/models/mock:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hello #one"}]}]}`, "text"},
	} {
		want := `"Hello from the mock model; memory: #one"`
		if status, text := post(t, llm.URL+c.path, c.body); status != 200 || !strings.Contains(text, `"`+c.where+`":`+want) {
			t.Errorf("%s = %d, %s; want %s", c.path, status, text, want)
		}
		streamed := strings.Replace(c.body, "{", `{"stream":true,`, 1)
		path := strings.Replace(c.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
		if status, text := post(t, llm.URL+path, streamed); status != 200 || !strings.HasPrefix(text, "event: ") && !strings.HasPrefix(text, "data: ") || !strings.Contains(text, "memory: #one") {
			t.Errorf("%s streamed = %d, %s; want server-sent events", path, status, text)
		}
	}
	if got := len(llm.Requests(t)); got != 8 {
		t.Errorf("%d requests in the log; want 8", got)
	}
}

func TestMock_Directives(t *testing.T) {
	llm := StartLLM(t)
	for _, c := range []struct{ text, want string }{
		{"#one [[chunks 3]]", "word1 word2 word3 memory: #one"},
		{"[[big 12]] #one", "item1 item2 memory: #one"},
		// A runtime puts earlier prompts in front: their directives are spent.
		{"earlier: #one [[chunks 2]]\n#two", "Hello from the mock model; memory: #one #two"},
		{"see http://x.test/#frag and &#x27; # Heading #two", "Hello from the mock model; memory: #two"},
	} {
		if _, text := post(t, llm.URL+"/v1/chat/completions", chat(t, c.text)); !strings.Contains(text, `"content":"`+c.want+`"`) {
			t.Errorf("%q: %s; want %q", c.text, text, c.want)
		}
	}
	if status, _ := post(t, llm.URL+"/v1/chat/completions", chat(t, "#one [[error 429]]")); status != 429 {
		t.Errorf("[[error 429]] = %d", status)
	}
	tools := `"tools":[{"function":{"name":"shell","parameters":{"properties":{"command":{"type":"string"}}}}}]`
	if _, text := post(t, llm.URL+"/v1/chat/completions", strings.Replace(chat(t, "#one [[sh echo 'hi there']]"), "{", "{"+tools+",", 1)); !strings.Contains(text, `"name":"shell","arguments":"{\"command\":\"echo 'hi there'\"}"`) {
		t.Errorf("[[sh]] = %s; want a call of shell", text)
	}
}

func TestMock_RefusesWhatItCannotTake(t *testing.T) {
	llm := StartLLM(t)
	url := llm.URL + "/v1/chat/completions"
	if status, text := post(t, url, "{"); status != 400 {
		t.Errorf("half a body = %d, %s; want 400", status, text)
	}
	if status, _ := post(t, llm.URL+"/v1/nothing", "{}"); status != 404 {
		t.Errorf("unknown path = %d; want 404", status)
	}
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	if _, err := w.Write(make([]byte, 17<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if status, text := post(t, url, bomb.String(), "Content-Encoding", "gzip"); status != 413 {
		t.Errorf("17 MiB in %d bytes of gzip = %d, %s; want 413", bomb.Len(), status, text)
	}
	if status, _ := post(t, url, chat(t, "still there? #one")); status != 200 {
		t.Errorf("next request = %d; want 200", status)
	}
}

func TestMock_ListensOnLoopbackOnly(t *testing.T) {
	llm := StartLLM(t)
	host, _, err := net.SplitHostPort(strings.TrimPrefix(llm.URL, "http://"))
	if err != nil || host != "127.0.0.1" {
		t.Errorf("address = %s, %v; want 127.0.0.1", llm.URL, err)
	}
}

func TestMain_NothingButLoopback(t *testing.T) {
	if !Isolated() {
		if _, err := Loopback([]string{"true"}); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		t.Fatal("this machine allows a namespace, and the tests run outside one")
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if len(interfaces) != 1 || interfaces[0].Flags&(net.FlagLoopback|net.FlagUp) != net.FlagLoopback|net.FlagUp {
		t.Errorf("interfaces = %+v; want loopback, up, and no other", interfaces)
	}
}
