package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agentos/actors/gateway/door"
	"agentos/cmd/agentos/transcript"
	"agentos/persistence/sqlitefile"
	"agentos/protocol"
)

// vmInfo is what is known of a VM without opening it.
type vmInfo struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`   // the database and its log
	Updated string    `json:"updated"` // when either was last written
	Holder  *vmHolder `json:"holder"`  // null: no process
}

type vmHolder struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

func (a *app) vmCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vm",
		Short: "List, make and remove VMs",
		Long: `A VM is one SQLite file with all its sessions. VMs with a name are in the data directory;
any other is the path of its file. Without a name these commands are about the VM that
--vm or AGENTOS_VM say, else about "default".`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.vmListCommand(), a.vmShowCommand(), a.vmCreateCommand(), a.vmDeleteCommand())
	return cmd
}

// placeOf finds the VM that a command about one VM means.
func (a *app) placeOf(cmd *cobra.Command, args []string) (place, error) {
	if len(args) == 1 {
		if cmd.Flags().Changed("vm") {
			return place{}, usage("the VM is named twice: %s, and --vm %s", args[0], a.vm)
		}
		return locate(args[0])
	}
	return a.place(cmd)
}

func (a *app) vmListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the VMs in the data directory",
		Example: "  agentos vm list\n  agentos vm list --json | jq -r .path",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.vmList(asJSON) },
	}
	jsonFlag(cmd, &asJSON, "one VM a line")
	return cmd
}

func (a *app) vmList(asJSON bool) error {
	data, err := dataDir()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(data, "vms"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return protocol.Errorf(protocol.CodeStorageUnavailable, "the data directory %s cannot be read: %w", data, errors.Unwrap(err))
	}
	t := table{head: []string{"NAME", "BYTES", "UPDATED", "HELD BY"}, give: []give{{24, 0}, {0, 2}, {17, 3}, {12, 1}}}
	for _, e := range entries {
		p, err := locate(e.Name())
		if err != nil || p.new() {
			continue // something else
		}
		info, err := inspectVM(p)
		if err != nil {
			return err
		}
		if asJSON {
			if err := json.NewEncoder(a.out).Encode(info); err != nil {
				return err
			}
			continue
		}
		t.add(cell{text: info.Name}, cell{text: fmt.Sprint(info.Bytes)}, cell{text: info.Updated}, cell{text: info.Holder.String()})
	}
	switch {
	case asJSON:
	case len(t.rows) == 0:
		a.say("there are no VMs yet in " + data + "; agentos prompt TEXT makes the first")
	default:
		t.print(a.out, a.style)
	}
	return nil
}

// String is "" for nobody.
func (h *vmHolder) String() string {
	if h == nil {
		return ""
	}
	return fmt.Sprintf("%s (process %d)", transcript.Line(h.Command, 60), h.PID)
}

// inspectVM looks at the files of a VM; CodeVMNotFound if it has none.
func inspectVM(p place) (vmInfo, error) {
	info := vmInfo{Name: p.name, Path: p.path}
	var updated time.Time
	for _, name := range []string{p.path, p.path + "-wal"} {
		f, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			if name == p.path {
				return info, noSuchVM(p)
			}
			continue
		}
		if err != nil {
			return info, protocol.Errorf(protocol.CodeStorageUnavailable, "%s cannot be looked at: %w", name, errors.Unwrap(err))
		}
		info.Bytes += f.Size()
		if f.ModTime().After(updated) {
			updated = f.ModTime()
		}
	}
	info.Updated = protocol.TimeOf(updated).String()
	if h, held := sqlitefile.HolderOf(p.path); held {
		info.Holder = &vmHolder{h.PID, h.Command}
	}
	return info, nil
}

func noSuchVM(p place) error {
	return protocol.Errorf(protocol.CodeVMNotFound, "there is no VM at %s", p.path)
}

func (a *app) vmShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show [NAME]",
		Short:   "Show one VM: its file, its size, who holds it",
		Example: "  agentos vm show work\n  agentos vm show --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.placeOf(cmd, args)
			if err != nil {
				return err
			}
			info, err := inspectVM(p)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(a.out).Encode(info)
			}
			for _, line := range [][2]string{
				{"path", info.Path}, {"bytes", fmt.Sprint(info.Bytes)}, {"updated", info.Updated}, {"held by", info.Holder.String()},
			} {
				if line[1] != "" {
					fmt.Fprintf(a.out, "%-8s %s\n", line[0], transcript.Line(line[1], 1000))
				}
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON, "one object")
	return cmd
}

func (a *app) vmCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "create [NAME]",
		Short: "Make a VM; one that exists stays as it is",
		Long: `Make a VM and print the path of its database. agentos prompt makes one by itself if need
be; this is for scripts that want it to be there. One that exists stays as it is.`,
		Example: "  agentos vm create work",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.placeOf(cmd, args)
			if err != nil {
				return err
			}
			if p.new() {
				signals := listen()
				defer signals.stop()
				ctx, cancel := signals.context(context.Background())
				defer cancel()
				r, err := a.openVM(ctx, "vm create", p, true)
				if err == nil {
					err = r.close(context.Background())
				}
				if err != nil {
					return err
				}
			}
			fmt.Fprintln(a.out, p.path)
			return nil
		},
	}
}

func (a *app) vmDeleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a VM with all its sessions",
		Long: `Remove a VM: its database with all sessions and histories, and the private sessions of the
built-in agent. What agents have written anywhere else stays, the VM's workspace too. A VM
that a process holds is not removed. There is no way back.`,
		Example: "  agentos vm delete work --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.placeOf(cmd, args)
			if err != nil {
				return err
			}
			if !yes {
				return usage("this removes %s with all its sessions; say --yes to do it", p.path)
			}
			return a.vmDelete(p)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

// vmDelete removes the files of a VM under its lock, the lock itself last: whoever
// waits for it finds that it is not the file it was.
func (a *app) vmDelete(p place) error {
	source, err := sqlitefile.Acquire(p.path, sqlitefile.Options{Command: "agentos vm delete"})
	if err != nil {
		return err
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if rerr := os.Remove(p.path + suffix); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	door.Sweep(filepath.Dir(p.path), p.path)
	err = errors.Join(err, os.RemoveAll(p.scriptedDir()), os.Remove(p.path+".lock"), source.Release())
	if err != nil {
		return protocol.Errorf(protocol.CodeStorageError, "not all of %s could be removed: %w", p.path, err)
	}
	if dir := filepath.Dir(p.path); filepath.Base(p.path) == "vm.db" && filepath.Base(dir) == p.name {
		if err := os.Remove(dir); err != nil { // something else is in it, a workspace for instance
			a.note(dir + " stays: it holds more than the VM")
		}
	}
	return nil
}
