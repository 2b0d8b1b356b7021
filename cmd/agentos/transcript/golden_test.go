package transcript_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agentos/cmd/agentos/transcript"
	"agentos/cmd/agentos/transcript/screen"
	"agentos/protocol"
)

// on is a terminal of so many columns.
func on(columns int, colour bool) transcript.Style {
	return transcript.Style{Terminal: true, Erases: true, Colour: colour, Columns: func() int { return columns }}
}

// item is a line of a scene.
type item struct {
	delta *protocol.Delta
	event protocol.Event
	end   bool // the turn's, or of the patience of whoever waits
}

// scene reads what an agent says, one item a line: an update as it is stored;
// =RUN and an update that closes a run; +RUN OFFSET and a live piece of it;
// ?ID and a permission request; !ID OUTCOME and its answer; END.
func scene(t *testing.T, text string) (items []item) {
	t.Helper()
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		head, payload, _ := strings.Cut(line, "{")
		words := strings.Fields(strings.TrimLeft(head, "=+?!"))
		e := protocol.Event{
			Kind: protocol.KindUpdate, Payload: []byte("{" + payload),
			Sequence: protocol.Sequence(n + 1), At: protocol.TimeMS(1000 * n),
		}
		switch head[:min(1, len(head))] {
		case "":
		case "=":
			e.Run = protocol.RunID(words[0])
		case "+":
			offset, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
			items = append(items, item{delta: &protocol.Delta{Run: protocol.RunID(words[0]), Offset: offset, Payload: e.Payload}})
			continue
		case "?":
			e.Kind, e.Request = protocol.KindPermissionRequest, protocol.RequestID(words[0])
		case "!":
			e.Kind, e.Request, e.Status = protocol.KindPermissionResponse, protocol.RequestID(words[0]), protocol.OutcomeAccepted
			if words[1] != string(protocol.OutcomeAccepted) {
				e.Status, e.Reason = protocol.OutcomeNotPending, protocol.Reason(words[1])
			}
		case "E":
			items = append(items, item{end: true})
			continue
		default:
			t.Fatalf("line %d is none of a scene: %s", n+1, line)
		}
		items = append(items, item{event: e})
	}
	return items
}

// live shows a scene as it happens.
func live(items []item, s transcript.Style) string {
	var b strings.Builder
	l := transcript.NewLive(&b, s)
	for _, i := range items {
		switch {
		case i.end:
			l.End()
		case i.delta != nil:
			l.Delta(*i.delta)
		default:
			l.Event(i.event)
		}
	}
	l.End()
	return b.String()
}

// page shows a scene as history.
func page(items []item, s transcript.Style) string {
	var b strings.Builder
	var events []protocol.Event
	for _, i := range items {
		if i.delta == nil && !i.end {
			events = append(events, i.event)
		}
	}
	transcript.Page(&b, s, events)
	return b.String()
}

// seen is what a terminal of so many columns shows of output.
func seen(t interface {
	Helper()
	Fatal(...any)
}, columns int, output string) string {
	t.Helper()
	s := screen.New(columns)
	if _, err := s.Write([]byte(output)); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// TestGolden compares what a person sees of each scene with the file that it
// came from. REWRITE=1 writes the files anew; they are reviewed as a diff.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			items := scene(t, string(archive.Files[0].Data))
			got := &txtar.Archive{Comment: archive.Comment, Files: archive.Files[:1:1]}
			add := func(name, text string) {
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
			}
			add("terminal 80", screen.Readable(live(items, on(80, true))))
			for _, columns := range []int{80, 40, 20} {
				add(fmt.Sprintf("seen at %d", columns), seen(t, columns, live(items, on(columns, true))))
			}
			add("terminal 80 NO_COLOR", screen.Readable(live(items, on(80, false))))
			add("terminal 80 dumb", screen.Readable(live(items, transcript.Style{Terminal: true, Columns: func() int { return 80 }})))
			add("pipe", live(items, transcript.Style{}))
			add("history 80", screen.Readable(page(items, on(80, true))))
			add("history seen at 40", seen(t, 40, page(items, on(40, true))))
			add("history pipe", page(items, transcript.Style{}))
			text := string(txtar.Format(got))
			if os.Getenv("REWRITE") == "1" {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); diff != "" {
				t.Errorf("REWRITE=1 accepts it (-want +got):\n%s", diff)
			}
		})
	}
}
