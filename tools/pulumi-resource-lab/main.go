// Command pulumi-resource-lab is a native Pulumi provider for tests, on Pulumi's own framework for
// providers in Go. Its notes are files that a test can look at and change, its commands run what
// they are told, and both misbehave when their inputs say so.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// version is set by the linker.
var version = "0.0.0"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	provider, err := infer.NewProviderBuilder().
		WithDescription("Notes in files and commands, for tests of what drives providers.").
		WithConfig(infer.Config(&Config{})).
		WithResources(infer.Resource(&Note{}), infer.Resource(&Command{})).
		WithComponents(infer.ComponentF(NewBinder)).
		WithFunctions(infer.Function(&Join{})).
		Build()
	if err != nil {
		return err
	}
	return parameterizable(provider).Run(context.Background(), "lab", version)
}
