package catalog

import (
	"slices"
	"time"
)

// Scripted is the built-in agent, the default when no other is named.
const Scripted = "scripted"

// node are the variables of the runtime that most agents are written for.
var node = []string{"NODE_OPTIONS", "NODE_PATH"}

// openAI and google are what agents of several models share.
var (
	openAI = []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT"}
	google = []string{
		"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
		"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_CLOUD_LOCATION",
		"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA",
	}
	models = []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENROUTER_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY",
		"DEEPSEEK_API_KEY", "CEREBRAS_API_KEY",
	}
	codex = []string{"CODEX_HOME", "CODEX_API_KEY", "NO_BROWSER", "RUST_LOG"}
)

// entries is the catalog. Versions are those that the quirks were seen with.
var entries = []Entry{
	{
		Name: "claude", Title: "Claude Code", Home: "https://github.com/agentclientprotocol/claude-agent-acp",
		Launch: []Command{npm("@agentclientprotocol/claude-agent-acp", "0.101.0", "claude-agent-acp")},
		Env: slices.Concat(node, []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL",
			"ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION",
			"AWS_REGION", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_APPLICATION_CREDENTIALS",
			"CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_EXECUTABLE", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
			"API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "IS_SANDBOX",
		}),
		Quirks: Quirks{Outlives: true},
	},
	{
		Name: "codex", Title: "Codex", Home: "https://github.com/agentclientprotocol/codex-acp",
		Launch: []Command{
			npm("@agentclientprotocol/codex-acp", "2.6.0", "codex-acp"),
			npm("@zed-industries/codex-acp", "0.16.0", "codex-acp"),
		},
		Env:    slices.Concat(node, openAI, codex),
		Quirks: Quirks{EndsAtEOFAfter: 7 * time.Second, Outlives: true},
	},
	{
		Name: "zed-codex", Title: "Codex (Zed's adapter)", Home: "https://github.com/zed-industries/codex-acp",
		Launch: []Command{only(npm("@zed-industries/codex-acp", "0.16.0", "codex-acp"))},
		Env:    slices.Concat(node, openAI, codex),
		Quirks: Quirks{NeverEndsAtEOF: true, Outlives: true},
	},
	{
		Name: "opencode", Title: "OpenCode", Home: "https://opencode.ai",
		Launch: []Command{npm("opencode-ai", "1.18.33", "opencode", "acp")},
		Env: slices.Concat(node, models, openAI, google, []string{
			"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_API_KEY",
			"OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH",
		}),
	},
	{
		Name: "gemini", Title: "Gemini CLI", Home: "https://geminicli.com",
		Launch: []Command{npm("@google/gemini-cli", "0.61.0", "gemini", "--acp")},
		Env:    slices.Concat(node, google, []string{"GEMINI_CLI_HOME", "GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_SANDBOX"}),
		// In a turn it ends only after the turn.
		Quirks: Quirks{EndsAtEOFAfter: 6 * time.Second, IgnoresTerm: true, Outlives: true, NoResume: true, LoadHazard: time.Minute},
	},
	{
		Name: "pi", Title: "Pi", Home: "https://github.com/svkozak/pi-acp",
		Launch: []Command{{
			Argv: []string{"pi-acp"}, Package: "pi-acp", Version: "0.0.34",
			// With older packages of pi, session/new is never answered.
			With: []string{"@earendil-works/pi-coding-agent@1.6.0"},
		}},
		Env: slices.Concat(node, models, openAI, google, []string{
			"PI_CODING_AGENT_DIR", "PI_OFFLINE", "PI_SKIP_VERSION_CHECK", "PI_ACP_PI_COMMAND",
		}),
		Quirks: Quirks{NoResume: true},
	},
	{
		Name: "qwen", Title: "Qwen Code", Home: "https://github.com/QwenLM/qwen-code",
		Launch: []Command{npm("@qwen-code/qwen-code", "0.24.4", "qwen", "--acp")},
		Env: slices.Concat(node, models, openAI, google, []string{
			"QWEN_HOME", "QWEN_RUNTIME_DIR", "QWEN_MODEL", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "TAVILY_API_KEY",
		}),
		Quirks: Quirks{EndsAtEOFAfter: 1300 * time.Millisecond},
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", Home: "https://github.com/github/copilot-cli",
		Launch: []Command{npm("@github/copilot", "1.0.102", "copilot", "--acp", "--stdio")},
		Env: slices.Concat(node, []string{
			"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "COPILOT_HOME", "COPILOT_CACHE_HOME", "COPILOT_MODEL",
			"COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_BEARER_TOKEN",
			"COPILOT_OFFLINE", "COPILOT_AUTO_UPDATE",
		}),
		Quirks: Quirks{EndsAtEOFAfter: 2100 * time.Millisecond, Outlives: true, NoResume: true},
	},
	{
		Name: "nanocoder", Title: "Nanocoder", Home: "https://github.com/Nano-Collective/nanocoder",
		Launch: []Command{npm("@nanocollective/nanocoder", "1.30.0", "nanocoder", "--acp")},
		Env: slices.Concat(node, models, openAI, google, []string{
			"NANOCODER_CONFIG_DIR", "NANOCODER_DATA_DIR", "NANOCODER_PROVIDERS", "NANOCODER_DISABLE_TELEMETRY",
		}),
		Quirks: Quirks{ReplaysOnResume: true, LoadsUnknown: true, NoClose: true},
	},
	{
		Name: Scripted, Title: "Scripted (built in)", BuiltIn: true,
		Launch: []Command{{Argv: []string{"agentos", "adapter", "scripted"}}},
		Env:    []string{"AGENTOS_SCRIPTED_DIR"},
	},
}

func npm(pkg, version string, argv ...string) Command {
	return Command{Argv: argv, Package: pkg, Version: version}
}

func only(c Command) Command {
	c.Only = true
	return c
}
