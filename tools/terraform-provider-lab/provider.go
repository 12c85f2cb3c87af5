package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type labProvider struct {
	version string
}

type providerConfig struct {
	Directory types.String `tfsdk:"directory"`
	Token     types.String `tfsdk:"token"`
}

func (p *labProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "lab"
	resp.Version = p.version
}

func (p *labProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "Objects in files, for tests of what drives providers.",
		Attributes: map[string]schema.Attribute{
			"directory": schema.StringAttribute{
				Required:    true,
				Description: "Where objects are kept, one JSON file each.",
			},
			"token": schema.StringAttribute{
				Optional:    true,
				Sensitive:   true,
				Description: "Any text; the word \"wrong\" is refused.",
			},
		},
	}
}

// Configure defers everything while the directory is unknown, where the client understands that.
func (p *labProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config providerConfig
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.Directory.IsUnknown() && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		return
	}
	if config.Token.ValueString() == "wrong" {
		resp.Diagnostics.AddAttributeError(pathRoot("token"), "Token refused", "The token is wrong.")
		return
	}
	store := &store{directory: config.Directory.ValueString()}
	resp.ResourceData = store
	resp.DataSourceData = store
	resp.EphemeralResourceData = store
}

func (p *labProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &objectResource{} },
	}
}

func (p *labProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &objectsDataSource{} },
	}
}

func (p *labProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &leaseResource{} },
	}
}

func (p *labProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return &joinFunction{} },
	}
}
