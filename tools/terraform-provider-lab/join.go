package main

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// joinFunction is provider::lab::join(separator, parts...).
type joinFunction struct{}

func (joinFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "join"
}

func (joinFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:           "Joins texts.",
		Parameters:        []function.Parameter{function.StringParameter{Name: "separator"}},
		VariadicParameter: function.StringParameter{Name: "parts", AllowNullValue: true},
		Return:            function.StringReturn{},
	}
}

func (joinFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var separator string
	var parts []types.String
	resp.Error = req.Arguments.Get(ctx, &separator, &parts)
	if resp.Error != nil {
		return
	}
	words := make([]string, 0, len(parts))
	for index, part := range parts {
		if part.IsNull() {
			resp.Error = function.NewArgumentFuncError(int64(index+1), "a part must not be null")
			return
		}
		words = append(words, part.ValueString())
	}
	resp.Error = resp.Result.Set(ctx, strings.Join(words, separator))
}
