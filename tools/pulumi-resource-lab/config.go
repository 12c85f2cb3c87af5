package main

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// Config is the provider's configuration.
type Config struct {
	Directory string `pulumi:"directory"`
	Token     string `pulumi:"token,optional" provider:"secret"`
}

func (c *Config) Annotate(a infer.Annotator) {
	a.Describe(&c.Directory, "Where notes are kept, one text file each.")
	a.Describe(&c.Token, "Any text; the word \"wrong\" is refused.")
	a.SetDefault(&c.Directory, ".", "LAB_DIRECTORY")
}

// Configure refuses one token, so that a test can see a configuration fail.
func (c *Config) Configure(context.Context) error {
	if c.Token == "wrong" {
		return errors.New("the token is wrong")
	}
	return nil
}
