// Package arch holds the rules of the house as tests: who may import whom, what
// is called where, how large things grow, what every package says of itself,
// and what never leaves the machine. A rule that is not a test is a wish.
//
// Every rule is a value with its reason, a check over parsed source and
// examples: a tiny piece of code that breaks it, and one that does not. A
// failure names the place, the reason and with that the way out. The examples
// are checked too, so that no rule is one that cannot fail.
//
// The rules read source, they do not build it: they hold for packages that do
// not compile yet and for files of every platform. The package holds tests only
// and changes nothing.
//
// To add a rule, add a value to one of the tables and at least one bad example.
package arch
