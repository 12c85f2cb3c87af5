package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
)

// Note is lab:index:Note, a text file. Another title is another note, another text an update.
type Note struct{}

// NoteArgs are the inputs.
type NoteArgs struct {
	Title  string            `pulumi:"title"`
	Text   string            `pulumi:"text,optional"`
	Secret *string           `pulumi:"secret,optional" provider:"secret"`
	Labels map[string]string `pulumi:"labels,optional"`
	Fault  *string           `pulumi:"fault,optional"`
}

// NoteState is what is remembered.
type NoteState struct {
	NoteArgs
	File     string `pulumi:"file"`
	Revision int    `pulumi:"revision"`
}

func (n *Note) Annotate(a infer.Annotator) {
	a.Describe(n, "A text file in the provider's directory.")
}

func (n *NoteArgs) Annotate(a infer.Annotator) {
	a.SetDefault(&n.Text, "empty")
	a.Describe(&n.Fault, "How to misbehave, as <what>-<when>: fail, hang (until the call is "+
		"cancelled) or crash, in create, update or delete; partial-create makes the note and then "+
		"reports that it could not be initialised.")
}

// Diff replaces for another title and updates for everything else.
func (*Note) Diff(_ context.Context, req infer.DiffRequest[NoteArgs, NoteState]) (infer.DiffResponse, error) {
	old, next := req.State.NoteArgs, req.Inputs
	detailed := map[string]p.PropertyDiff{}
	if old.Title != next.Title {
		detailed["title"] = p.PropertyDiff{Kind: p.UpdateReplace}
	}
	if old.Text != next.Text {
		detailed["text"] = p.PropertyDiff{Kind: p.Update}
	}
	if !maps.Equal(old.Labels, next.Labels) {
		detailed["labels"] = p.PropertyDiff{Kind: p.Update}
	}
	for name, pair := range map[string][2]*string{
		"secret": {old.Secret, next.Secret},
		"fault":  {old.Fault, next.Fault},
	} {
		if kind, changed := optionalDiff(pair[0], pair[1]); changed {
			detailed[name] = p.PropertyDiff{Kind: kind}
		}
	}
	return infer.DiffResponse{HasChanges: len(detailed) > 0, DetailedDiff: detailed}, nil
}

func optionalDiff(old, next *string) (p.DiffKind, bool) {
	switch {
	case old == nil && next == nil:
		return "", false
	case old == nil:
		return p.Add, true
	case next == nil:
		return p.Delete, true
	}
	return p.Update, *old != *next
}

// Create answers a preview without making anything.
func (*Note) Create(ctx context.Context, req infer.CreateRequest[NoteArgs]) (infer.CreateResponse[NoteState], error) {
	state := NoteState{NoteArgs: req.Inputs, Revision: 1}
	if req.DryRun {
		return infer.CreateResponse[NoteState]{Output: state}, nil
	}
	if err := misbehave(ctx, req.Inputs.Fault, "create"); err != nil {
		return infer.CreateResponse[NoteState]{}, err
	}
	logger := p.GetLogger(ctx)
	logger.Infof("makes %q", req.Inputs.Title)
	if req.Inputs.Secret != nil {
		// What a careless provider does. Who shows the log has to hide it.
		logger.Debugf("hides %s", *req.Inputs.Secret)
	}
	id := newID()
	state.File = fileOf(ctx, id)
	response := infer.CreateResponse[NoteState]{ID: id, Output: state}
	if err := write(state); err != nil {
		return infer.CreateResponse[NoteState]{}, err
	}
	if req.Inputs.Fault != nil && *req.Inputs.Fault == "partial-create" {
		return response, infer.ResourceInitFailedError{Reasons: []string{"the fault says partial-create"}}
	}
	return response, nil
}

// Read takes the text from the file; an empty id says that there is no note any more.
func (*Note) Read(ctx context.Context, req infer.ReadRequest[NoteArgs, NoteState]) (infer.ReadResponse[NoteArgs, NoteState], error) {
	state := req.State
	state.File = fileOf(ctx, req.ID)
	text, err := os.ReadFile(state.File)
	if errors.Is(err, fs.ErrNotExist) {
		return infer.ReadResponse[NoteArgs, NoteState]{}, nil
	}
	if err != nil {
		return infer.ReadResponse[NoteArgs, NoteState]{}, err
	}
	state.Text = string(text)
	return infer.ReadResponse[NoteArgs, NoteState]{ID: req.ID, Inputs: state.NoteArgs, State: state}, nil
}

func (*Note) Update(ctx context.Context, req infer.UpdateRequest[NoteArgs, NoteState]) (infer.UpdateResponse[NoteState], error) {
	state := NoteState{NoteArgs: req.Inputs, File: req.State.File, Revision: req.State.Revision + 1}
	if req.DryRun {
		return infer.UpdateResponse[NoteState]{Output: state}, nil
	}
	if err := misbehave(ctx, req.Inputs.Fault, "update"); err != nil {
		return infer.UpdateResponse[NoteState]{}, err
	}
	return infer.UpdateResponse[NoteState]{Output: state}, write(state)
}

func (*Note) Delete(ctx context.Context, req infer.DeleteRequest[NoteState]) (infer.DeleteResponse, error) {
	if err := misbehave(ctx, req.State.Fault, "delete"); err != nil {
		return infer.DeleteResponse{}, err
	}
	err := os.Remove(req.State.File)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return infer.DeleteResponse{}, err
}

func write(state NoteState) error {
	if err := os.MkdirAll(filepath.Dir(state.File), 0o755); err != nil {
		return err
	}
	return os.WriteFile(state.File, []byte(state.Text), 0o644)
}

func fileOf(ctx context.Context, id string) string {
	return filepath.Join(infer.GetConfig[*Config](ctx).Directory, id+".txt")
}

func newID() string {
	bytes := make([]byte, 8)
	// crypto/rand does not fail on the systems we run on; it ends the program if it does.
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
}

// misbehave does what the input asks for at this moment; an error ends the call.
func misbehave(ctx context.Context, fault *string, when string) error {
	if fault == nil {
		return nil
	}
	switch *fault {
	case "fail-" + when:
		return errors.New("the fault says fail-" + when)
	case "hang-" + when:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Minute):
			return errors.New("nobody cancelled the call for ten minutes")
		}
	case "crash-" + when:
		os.Exit(3)
	}
	return nil
}
