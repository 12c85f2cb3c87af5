package main

import (
	"context"
	"errors"
	"strings"

	"github.com/pulumi/pulumi-go-provider/infer"
)

// Join is the function lab:index:join.
type Join struct{}

// JoinArgs are its arguments.
type JoinArgs struct {
	Separator string   `pulumi:"separator,optional"`
	Parts     []string `pulumi:"parts"`
}

// JoinResult is its result.
type JoinResult struct {
	Text string `pulumi:"text"`
}

func (j *Join) Annotate(a infer.Annotator) {
	a.Describe(j, "Joins texts; without any it fails.")
}

func (*Join) Invoke(_ context.Context, req infer.FunctionRequest[JoinArgs]) (infer.FunctionResponse[JoinResult], error) {
	if len(req.Input.Parts) == 0 {
		return infer.FunctionResponse[JoinResult]{}, errors.New("there is nothing to join")
	}
	text := strings.Join(req.Input.Parts, req.Input.Separator)
	return infer.FunctionResponse[JoinResult]{Output: JoinResult{Text: text}}, nil
}
