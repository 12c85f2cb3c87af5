package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// Command is lab:index:Command: shell text that runs when the resource comes, changes and goes.
type Command struct{}

// CommandArgs are the inputs.
type CommandArgs struct {
	Create      string            `pulumi:"create"`
	Update      *string           `pulumi:"update,optional"`
	Delete      *string           `pulumi:"delete,optional"`
	Environment map[string]string `pulumi:"environment,optional"`
	Triggers    []string          `pulumi:"triggers,optional" provider:"replaceOnChanges"`
}

// CommandState is what is remembered.
type CommandState struct {
	CommandArgs
	Stdout string `pulumi:"stdout"`
	Stderr string `pulumi:"stderr"`
}

func (c *Command) Annotate(a infer.Annotator) {
	a.Describe(c, "Runs shell text with /bin/sh and keeps what it printed.")
}

func (*Command) Create(ctx context.Context, req infer.CreateRequest[CommandArgs]) (infer.CreateResponse[CommandState], error) {
	state := CommandState{CommandArgs: req.Inputs}
	if req.DryRun {
		return infer.CreateResponse[CommandState]{Output: state}, nil
	}
	err := state.run(ctx, req.Inputs.Create)
	return infer.CreateResponse[CommandState]{ID: newID(), Output: state}, err
}

// Update runs the update text, else the create text again.
func (*Command) Update(ctx context.Context, req infer.UpdateRequest[CommandArgs, CommandState]) (infer.UpdateResponse[CommandState], error) {
	state := CommandState{CommandArgs: req.Inputs, Stdout: req.State.Stdout, Stderr: req.State.Stderr}
	if req.DryRun {
		return infer.UpdateResponse[CommandState]{Output: state}, nil
	}
	text := req.Inputs.Create
	if req.Inputs.Update != nil {
		text = *req.Inputs.Update
	}
	err := state.run(ctx, text)
	return infer.UpdateResponse[CommandState]{Output: state}, err
}

func (*Command) Delete(ctx context.Context, req infer.DeleteRequest[CommandState]) (infer.DeleteResponse, error) {
	if req.State.Delete == nil {
		return infer.DeleteResponse{}, nil
	}
	state := req.State
	return infer.DeleteResponse{}, state.run(ctx, *req.State.Delete)
}

// run replaces the outputs. The text sees the given environment and LAB_STDOUT, the last output.
func (s *CommandState) run(ctx context.Context, text string) error {
	command := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	environment := maps.Clone(s.Environment)
	if environment == nil {
		environment = map[string]string{}
	}
	environment["LAB_STDOUT"] = s.Stdout
	command.Env = command.Environ()
	for name, value := range environment {
		command.Env = append(command.Env, name+"="+value)
	}
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	s.Stdout = strings.TrimSuffix(stdout.String(), "\n")
	s.Stderr = strings.TrimSuffix(stderr.String(), "\n")
	return nil
}
