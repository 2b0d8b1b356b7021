package adapters

import (
	"slices"
	"strings"

	"agentos/protocol"
)

// inherited are the variables that every adapter may have of the runtime's own.
var inherited = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "LANG": true,
	"TZ": true, "TERM": true, "TMPDIR": true, "NODE_EXTRA_CA_CERTS": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "NO_PROXY": true,
	"http_proxy": true, "https_proxy": true, "all_proxy": true, "no_proxy": true,
}

// inheritedPrefixes are those that come in families.
var inheritedPrefixes = []string{"LC_", "XDG_", "SSL_CERT_"}

// ownPrefix marks the runtime's own variables, which tell where its data is and
// may hold its tokens. An adapter gets none of them but scriptedDir.
const (
	ownPrefix   = "AGENTOS_"
	scriptedDir = "AGENTOS_SCRIPTED_DIR"
)

// Environment returns the whole environment of an adapter, sorted, as
// "NAME=VALUE": of base (os.Environ) what every adapter may have and what names
// lists, and what set gives. Values pass as they are, line ends included.
//
// It returns CodeInvalidArgument, naming the variable, for one that is not a
// variable or that is the runtime's own. The error never holds a value.
func Environment(base, names []string, set map[string]string) ([]string, error) {
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	values := make(map[string]string)
	for _, variable := range base {
		name, value, ok := strings.Cut(variable, "=")
		if ok && name != "" && (everyones(name) || slices.Contains(names, name)) {
			values[name] = value
		}
	}
	for name, value := range set {
		if err := checkName(name); err != nil {
			return nil, err
		}
		if strings.ContainsRune(value, 0) {
			return nil, protocol.Errorf(protocol.CodeInvalidArgument, "the value of variable %s holds a NUL byte, which no environment can", name)
		}
		values[name] = value
	}
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func everyones(name string) bool {
	return inherited[name] || slices.ContainsFunc(inheritedPrefixes, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

func checkName(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return protocol.Errorf(protocol.CodeInvalidArgument, "%q cannot name an environment variable: it is empty or holds = or a NUL byte", name)
	case strings.HasPrefix(name, ownPrefix) && name != scriptedDir:
		return protocol.Errorf(protocol.CodeInvalidArgument, "variable %s is the runtime's own and is not passed to agents", name)
	}
	return nil
}
