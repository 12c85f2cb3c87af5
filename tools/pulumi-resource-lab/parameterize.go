package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/blang/semver"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// parameterizable lets the provider become another package: NAME VERSION give its notes and commands under other tokens.
func parameterizable(inner p.Provider) p.Provider {
	outer := inner
	var name atomic.Value
	name.Store("lab")
	own := func(urn resource.URN) resource.URN {
		return resource.URN(strings.Replace(string(urn), "::"+name.Load().(string)+":index:", "::lab:index:", 1))
	}
	outer.Parameterize = func(_ context.Context, req p.ParameterizeRequest) (p.ParameterizeResponse, error) {
		if req.Args == nil || len(req.Args.Args) != 2 {
			return p.ParameterizeResponse{}, errors.New("the parameters are a name and a version")
		}
		version, err := semver.Parse(req.Args.Args[1])
		if err != nil {
			return p.ParameterizeResponse{}, err
		}
		name.Store(req.Args.Args[0])
		return p.ParameterizeResponse{Name: req.Args.Args[0], Version: version}, nil
	}
	outer.GetSchema = func(ctx context.Context, req p.GetSchemaRequest) (p.GetSchemaResponse, error) {
		reply, err := inner.GetSchema(ctx, p.GetSchemaRequest{Version: req.Version})
		pkg := name.Load().(string)
		if err != nil || pkg == "lab" {
			return reply, err
		}
		var schema map[string]any
		text := strings.ReplaceAll(reply.Schema, "lab:index", pkg+":index")
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			return reply, err
		}
		schema["name"] = pkg
		if resources, ok := schema["resources"].(map[string]any); ok {
			delete(resources, pkg+":index:Binder")
		}
		delete(schema, "functions")
		renamed, err := json.Marshal(schema)
		return p.GetSchemaResponse{Schema: string(renamed)}, err
	}
	outer.Check = func(ctx context.Context, req p.CheckRequest) (p.CheckResponse, error) {
		req.Urn = own(req.Urn)
		return inner.Check(ctx, req)
	}
	outer.Diff = func(ctx context.Context, req p.DiffRequest) (p.DiffResponse, error) {
		req.Urn = own(req.Urn)
		return inner.Diff(ctx, req)
	}
	outer.Create = func(ctx context.Context, req p.CreateRequest) (p.CreateResponse, error) {
		req.Urn = own(req.Urn)
		return inner.Create(ctx, req)
	}
	outer.Read = func(ctx context.Context, req p.ReadRequest) (p.ReadResponse, error) {
		req.Urn = own(req.Urn)
		return inner.Read(ctx, req)
	}
	outer.Update = func(ctx context.Context, req p.UpdateRequest) (p.UpdateResponse, error) {
		req.Urn = own(req.Urn)
		return inner.Update(ctx, req)
	}
	outer.Delete = func(ctx context.Context, req p.DeleteRequest) error {
		req.Urn = own(req.Urn)
		return inner.Delete(ctx, req)
	}
	return outer
}
