// Package script runs conversations with a machine that are kept in text
// files: what is put in, a line of dashes, what must come out. The files are
// read as the specification of the machine and reviewed as diffs.
//
//	# A cancelled turn ends exactly once.
//
//	prompt t1 'say "hi" to #one'
//	cancel t1
//	----
//	append 1 turn_started t1
//	state cancelling
//
// # Files
//
// A block is one command or more, a line "----", and the output of all of them
// together up to the next blank line. Output that holds a blank line itself is
// fenced: the line "----" stands twice before it and twice after it. A line
// whose first character is # is a comment, wherever commands may stand; a #
// further along is text, for prompts carry #tags.
//
// Words are separated by blanks. Between single quotes everything is text;
// between double quotes the escapes of a Go string work; pieces that touch make
// one word, as in a shell: note='two words', '{"a":1}', "line\n".
//
// # Rewriting
//
// With REWRITE=1 in the environment the output produced is written into the
// file instead of being compared, so a new script is a list of commands and one
// run. It is an environment variable and not a flag because a flag would be
// refused by the packages of ./... that do not define it.
//
// # Concurrency
//
// Files run one after another, each as a subtest, each with a machine of its
// own. The package starts no goroutine and writes nothing but the script files.
package script
