package peers

import (
	"embed"
	"fmt"
	"path/filepath"
)

// ownEntries are the agents that are files of this folder.
//
//go:embed sdk-agent.mjs
var ownEntries embed.FS

// setup is what one agent needs beyond the base environment.
type setup struct {
	args  []string          // behind the entry
	env   []string          // NAME=VALUE
	files map[string]string // path under the home: text
}

// setups holds, for each agent of agents.txt, what makes it use the mock at url,
// ask nobody to sign in, and treat its tools in that manner.
var setups = map[string]func(home, url string, manner Manner) setup{
	"codex":  codex,
	"claude": claude,
	// It has no choice: it asks before every command.
	"sdk": func(home, _ string, _ Manner) setup {
		return setup{args: []string{"--sessions", filepath.Join(home, "sdk-sessions")}}
	},
}

func codex(home, url string, manner Manner) setup {
	approval := map[Manner]string{Free: "on-request", Asking: "untrusted"}[manner]
	return setup{
		env: []string{"CODEX_HOME=" + filepath.Join(home, ".codex"), "OPENAI_API_KEY=dummy"},
		// Its own sandbox needs privileges that test machines lack: a command
		// run in it fails, hence full access. Retries would hide an LLM error.
		files: map[string]string{".codex/config.toml": fmt.Sprintf(`model = "mock"
model_provider = "mock"
approval_policy = "%s"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false
`, approval, url)},
	}
}

func claude(home, url string, manner Manner) setup {
	made := setup{env: []string{
		"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"),
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"IS_SANDBOX=1", // tests may run as root, which it refuses elsewhere
	}}
	// Without a mode it chooses one by its model, and with the mock's it asks nobody.
	if manner == Asking {
		made.files = map[string]string{".claude/settings.json": `{"permissions": {"defaultMode": "default"}}`}
	}
	return made
}
