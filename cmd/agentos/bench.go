package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentos/actors/bench"
	"agentos/cmd/agentos/transcript"
	"agentos/persistence/sqlitefile/bare"
	"agentos/protocol"
)

type benchFlags struct {
	only   []string
	quick  bool
	rounds int
	events int
	dir    string
	check  bool
	json   bool
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the runtime on this machine",
		Long:  benchHelp + benchRows(),
		Example: `  agentos bench --quick
  agentos bench --only commit group --rounds 1000
  agentos bench --json --check > bench.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && !cmd.Flags().Changed("only") {
				return fmt.Errorf("unexpected argument %q; --only names rows", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.only = append(f.only, args...)
			return a.bench(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.only, "only", nil, "measure the rows `NAME...` only; group means group-8, group-64 and group-512")
	flags.BoolVar(&f.quick, "quick", false, fmt.Sprintf("end within %.0f s", bench.QuickLimit.Seconds()))
	flags.IntVar(&f.rounds, "rounds", 0, "count exactly `N` rounds of each row, instead of as many as there is time for")
	flags.IntVar(&f.events, "events", bench.DefaultEvents, "a long history has `N` events; the targets are about the default")
	flags.StringVar(&f.dir, "dir", "", "work in `DIR`, which decides the disk (default: beside the data directory)")
	flags.BoolVar(&f.check, "check", false, "exit with 1 if a target is missed or a row could not be measured")
	jsonFlag(cmd, &f.json, "one row a line")
	return cmd
}

func (f benchFlags) validate(cmd *cobra.Command) error {
	names := bench.Names()
	for _, wanted := range f.only {
		if !slices.ContainsFunc(names, func(name string) bool { return bench.Matches(name, wanted) }) {
			return usage("there is no row %q; there are %s", wanted, strings.Join(names, ", "))
		}
	}
	switch given := cmd.Flags().Changed; {
	case given("rounds") && f.rounds < 1:
		return usage("--rounds is at least 1, not %d", f.rounds)
	case f.events < 1:
		return usage("--events is at least 1, not %d", f.events)
	case given("only") && len(f.only) == 0:
		return usage("--only needs the name of a row; there are %s", strings.Join(names, ", "))
	}
	return nil
}

// bench measures in a directory of its own, which is gone when it returns.
func (a *app) bench(cmd *cobra.Command, f benchFlags) (err error) {
	if err := f.validate(cmd); err != nil {
		return err
	}
	signals := listen()
	defer signals.stop()
	ctx, cancel := signals.context(context.Background())
	defer cancel()
	dir, err := a.benchDir(f.dir)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = fmt.Errorf("remove %s: %w", dir, rerr)
		}
	}()
	c, err := a.benchConfig(dir, f.events)
	if err != nil {
		return err
	}
	view := &benchView{app: a, json: f.json, leave: cancel}
	facts, err := bench.Inspect(ctx, dir)
	if err == nil {
		view.facts(facts)
		err = bench.Run(ctx, c, bench.Plan{Only: f.only, Rounds: f.rounds, Quick: f.quick, Progress: view.progress}, view.row)
	}
	view.end()
	switch {
	case a.out.gone(): // nobody reads on, which is no mistake
		return nil
	case ctx.Err() != nil:
		return interrupted{}
	}
	if err == nil && f.check && !view.allHold() {
		return exitStatus(protocol.ExitFailed)
	}
	return err
}

// benchConfig measures what the other commands use.
func (a *app) benchConfig(dir string, events int) (bench.Config, error) {
	log, err := a.logger()
	if err != nil {
		return bench.Config{}, err
	}
	guard, err := guardCommand(a.umask)
	if err != nil {
		return bench.Config{}, err
	}
	return bench.Config{
		Dir: dir, Sources: sources("bench", true, log),
		Bare:  func(path string) (bench.Bare, error) { return bare.Open(path) },
		Agent: []string{guard[0], "adapter", "scripted"}, Guard: guard,
		Env: os.Environ(), Events: events,
	}, nil
}

// benchDir makes a directory to work in: below the one that was asked for, else on
// the disk where VMs are, else on any disk.
func (a *app) benchDir(asked string) (string, error) {
	const pattern = ".agentos-bench-*"
	if asked != "" {
		dir, err := os.MkdirTemp(asked, pattern)
		if err != nil {
			return "", usage("--dir %s cannot be used: %w", asked, err)
		}
		if fs, _ := bench.FileSystem(dir); bench.InMemory(fs) { // without a name it is taken for a disk
			a.note(fmt.Sprintf("%s is in memory (%s), where a commit costs no flush: the ratios are not those of a disk", asked, fs))
		}
		return filepath.Abs(dir)
	}
	data, err := dataDir()
	if err != nil {
		return "", err
	}
	var reasons []string
	for _, parent := range []string{existing(data), os.TempDir(), "/var/tmp"} {
		fs, err := bench.FileSystem(parent)
		if err == nil && bench.InMemory(fs) {
			err = fmt.Errorf("%s is in memory", parent)
		}
		if err == nil {
			var dir string
			if dir, err = os.MkdirTemp(parent, pattern); err == nil {
				return dir, nil
			}
		}
		reasons = append(reasons, err.Error())
	}
	return "", usage("there is no disk to work on, give --dir: %s", strings.Join(reasons, "; "))
}

// existing returns dir, or what is there above it.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

const benchHelp = `Measure the runtime on this machine, against the least that the same work could cost: the
bare SQLite driver writing and reading the same rows by hand, and the same agent spoken to
directly over its pipes. Both sides work in the same run, a round of each in turn, on the
same disk and with every commit flushed. Figures are medians; absolute ones belong to one
machine and its load, ratios travel. Run it while nothing else is running.

Everything is made in a temporary directory and removed again, also after an interrupt; no
VM of yours is touched. It needs about 500 MB. A missed target is no error (but see --check),
and a row that could not be measured says so.

Not measured here: the delay of deltas, memory, an actor's socket, and growth beyond that
of waking up.

Rows, and what their ratio should be:
`

// benchRows explains the rows, from the measures themselves.
func benchRows() string {
	const columns = 90
	var out strings.Builder
	for _, m := range bench.Measures {
		for _, w := range m.Works {
			head := fmt.Sprintf("  %-16s %-7s  ", w.Name, w.Target)
			fmt.Fprintf(&out, "%s%s\n", head, transcript.Wrap(w.About, columns, len(head), strings.Repeat(" ", len(head))))
		}
	}
	return strings.TrimRight(out.String(), "\n")
}
