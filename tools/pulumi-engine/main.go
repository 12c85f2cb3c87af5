// Command pulumi-engine runs the deployment engine of Pulumi, unmodified, on a list of operations: its providers are programs
// that it finds in PATH, as it always does, and the program of the stack is data. It is for tests of what such an engine drives.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// resourceSpec is one resource of the program of a stack.
type resourceSpec struct {
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	Inputs map[string]any `json:"inputs"`
	Remote bool           `json:"remote"`
}

// invokeSpec is one call of a function.
type invokeSpec struct {
	Token string         `json:"token"`
	Args  map[string]any `json:"args"`
}

// operation is one run of the engine; each begins with the state that the one before it left.
type operation struct {
	Kind string `json:"kind"`
	// Package has the resources, under settings of its own.
	Package   string         `json:"package"`
	Settings  map[string]any `json:"settings"`
	Resources []resourceSpec `json:"resources"`
	Invokes   []invokeSpec   `json:"invokes"`
}

// result is what came of an operation, one line of JSON.
type result struct {
	Error       string    `json:"error,omitempty"`
	Steps       []string  `json:"steps"`
	Resources   []stateOf `json:"resources"`
	Invoked     []any     `json:"invoked,omitempty"`
	Diagnostics []string  `json:"diagnostics,omitempty"`
}

type stateOf struct {
	URN     string         `json:"urn"`
	ID      string         `json:"id"`
	Outputs map[string]any `json:"outputs"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var operations []operation
	if err := json.NewDecoder(os.Stdin).Decode(&operations); err != nil {
		return fmt.Errorf("the operations are not JSON: %w", err)
	}
	if len(operations) == 0 {
		return errors.New("there are no operations")
	}
	stack := &stack{}
	output := json.NewEncoder(os.Stdout)
	for _, op := range operations {
		if err := output.Encode(stack.run(context.Background(), op)); err != nil {
			return err
		}
	}
	return nil
}
