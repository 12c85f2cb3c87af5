package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/pulumi/pulumi/pkg/v3/display"
	"github.com/pulumi/pulumi/pkg/v3/engine"
	enginehost "github.com/pulumi/pulumi/pkg/v3/host"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy"
	"github.com/pulumi/pulumi/pkg/v3/resource/deploy/deploytest"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/pkg/v3/util/cancel"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/providers"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// stack is a stack in memory.
type stack struct {
	snapshot *deploy.Snapshot
}

// host is the host of the engine, with a program that is no process.
type host struct {
	plugin.Host
	program plugin.LanguageRuntime
}

func (h *host) LanguageRuntime(*plugin.Context, string) (plugin.LanguageRuntime, error) {
	return h.program, nil
}

func (s *stack) run(ctx context.Context, op operation) result {
	var done result
	lock := &sync.Mutex{}
	program := deploytest.NewLanguageRuntime(func(_ plugin.RunInfo, monitor *deploytest.ResourceMonitor) error {
		return program(op, monitor, func(value any) {
			lock.Lock()
			defer lock.Unlock()
			done.Invoked = append(done.Invoked, value)
		})
	})
	cancelContext, cancelSource := cancel.NewContext(ctx)
	defer cancelSource.Cancel()
	events := make(chan engine.Event)
	journal := engine.NewTestJournal()
	directory, err := os.Getwd()
	if err != nil {
		return result{Error: err.Error()}
	}
	project := &workspace.Project{Name: "trial", Runtime: workspace.NewProjectRuntimeInfo("data", nil)}
	name, err := tokens.ParseStackName("dev")
	if err != nil {
		return result{Error: err.Error()}
	}
	info := engine.UpdateInfo{
		Root:    directory,
		Project: project,
		Target: &deploy.Target{
			Name:      name,
			Snapshot:  s.snapshot,
			Decrypter: config.NopDecrypter,
		},
	}
	options := engine.UpdateOptions{
		Parallel:             4,
		SkipPluginPreInstall: true,
		HostFactory: func(ctx context.Context, d, status diag.Sink, debug plugin.DebugContext) (plugin.Host, error) {
			inner, err := enginehost.New(ctx, d, status, debug, nil, nil, nil, nil)
			if err != nil {
				return nil, err
			}
			return &host{Host: inner, program: program}, nil
		},
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for event := range events {
			s.note(&done, lock, event)
		}
	}()
	engineContext := &engine.Context{
		Cancel:          cancelContext,
		Events:          events,
		SnapshotManager: journal,
	}
	var failure error
	switch op.Kind {
	case "preview":
		_, _, failure = engine.Update(info, engineContext, options, true)
	case "up":
		_, _, failure = engine.Update(info, engineContext, options, false)
	case "refresh":
		_, _, failure = engine.Refresh(info, engineContext, options, false)
	case "destroy":
		_, _, failure = engine.Destroy(info, engineContext, options, false)
	default:
		failure = fmt.Errorf("there is no operation %q", op.Kind)
	}
	close(events)
	<-drained
	if err := journal.Close(); err != nil {
		return result{Error: err.Error()}
	}
	if op.Kind != "preview" {
		next, err := journal.Entries().Snap(s.snapshot)
		if err == nil {
			err = next.VerifyIntegrity()
		}
		if err != nil {
			failure = fmt.Errorf("the state is not sound: %w (%v)", err, failure)
		} else {
			s.snapshot = next
		}
	}
	if failure != nil {
		done.Error = failure.Error()
	}
	s.list(&done)
	return done
}

// note keeps what an event says.
func (s *stack) note(done *result, lock *sync.Mutex, event engine.Event) {
	lock.Lock()
	defer lock.Unlock()
	switch event.Type {
	case engine.DiagEvent:
		payload := event.Payload().(engine.DiagEventPayload)
		if payload.Severity != diag.Debug {
			text := colors.Never.Colorize(payload.Prefix + payload.Message)
			done.Diagnostics = append(done.Diagnostics, fmt.Sprintf("%s: %s", payload.Severity, text))
		}
	case engine.ResourcePreEvent:
		step := event.Payload().(engine.ResourcePreEventPayload).Metadata
		done.Steps = append(done.Steps, fmt.Sprintf("%s %s", display.StepOp(step.Op), step.URN.Name()))
	}
}

// list adds all resources but providers.
func (s *stack) list(done *result) {
	done.Resources = []stateOf{}
	if s.snapshot == nil {
		return
	}
	for _, state := range s.snapshot.Resources {
		if state.URN.Type().Package() == "pulumi" {
			continue
		}
		done.Resources = append(done.Resources, stateOf{
			URN:     string(state.URN),
			ID:      string(state.ID),
			Outputs: state.Outputs.Mappable(),
		})
	}
}

// program registers the resources, and calls the functions.
func program(op operation, monitor *deploytest.ResourceMonitor, tell func(any)) error {
	reference := ""
	if op.Package != "" {
		made, err := monitor.RegisterResource(providers.MakeProviderType(tokens.Package(op.Package)), "own", true,
			deploytest.ResourceOptions{Inputs: resource.NewPropertyMapFromMap(op.Settings)})
		if err != nil {
			return err
		}
		id := made.ID
		if id == "" {
			id = providers.UnknownID
		}
		provider, err := providers.NewReference(made.URN, id)
		if err != nil {
			return err
		}
		reference = provider.String()
	}
	for _, spec := range op.Resources {
		_, err := monitor.RegisterResource(tokens.Type(spec.Type), spec.Name, !spec.Remote, deploytest.ResourceOptions{
			Inputs:   resource.NewPropertyMapFromMap(spec.Inputs),
			Remote:   spec.Remote,
			Provider: reference,
			// What a component makes is the package's as well, whatever its tokens say.
			Providers: map[string]string{string(tokens.Type(spec.Type).Package()): reference},
		})
		if err != nil {
			return err
		}
	}
	for _, spec := range op.Invokes {
		args := resource.NewPropertyMapFromMap(spec.Args)
		reply, failures, err := monitor.Invoke(tokens.ModuleMember(spec.Token), args, reference, "", "")
		if err != nil {
			return err
		}
		if len(failures) > 0 {
			return fmt.Errorf("%s: %v", spec.Token, failures)
		}
		tell(reply.Mappable())
	}
	return nil
}
