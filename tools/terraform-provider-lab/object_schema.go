package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// objectModel is lab_object: an attribute of every kind that protocol 6 has.
type objectModel struct {
	ID              types.String  `tfsdk:"id"`
	Name            types.String  `tfsdk:"name"`
	Size            types.Int64   `tfsdk:"size"`
	Ratio           types.Number  `tfsdk:"ratio"`
	Tags            types.Map     `tfsdk:"tags"`
	Labels          types.Set     `tfsdk:"labels"`
	Network         types.Object  `tfsdk:"network"`
	Rules           types.List    `tfsdk:"rules"`
	Peers           types.Set     `tfsdk:"peers"`
	Members         types.Map     `tfsdk:"members"`
	Payload         types.Dynamic `tfsdk:"payload"`
	Password        types.String  `tfsdk:"password"`
	PasswordVersion types.Int64   `tfsdk:"password_version"`
	Revision        types.Int64   `tfsdk:"revision"`
	Fault           types.String  `tfsdk:"fault"`
}

type objectIdentity struct {
	ID types.String `tfsdk:"id"`
}

func (r *objectResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	keep := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	resp.Schema = schema.Schema{
		Version:     1,
		Description: "One object, kept in a file.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, PlanModifiers: keep},
			"name": schema.StringAttribute{
				Required:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
			},
			"size":   schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1)},
			"ratio":  schema.NumberAttribute{Optional: true},
			"tags":   schema.MapAttribute{Optional: true, ElementType: types.StringType},
			"labels": schema.SetAttribute{Optional: true, ElementType: types.StringType},
			"network": schema.SingleNestedAttribute{
				Optional: true,
				Attributes: map[string]schema.Attribute{
					"cidr":   schema.StringAttribute{Required: true},
					"secret": schema.StringAttribute{Optional: true, Sensitive: true},
				},
			},
			"rules": schema.ListNestedAttribute{
				Optional: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"port": schema.Int64Attribute{Required: true},
					"protocol": schema.StringAttribute{
						Optional: true, Computed: true, Default: stringdefault.StaticString("tcp"),
					},
				}},
			},
			"peers": schema.SetNestedAttribute{
				Optional: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"host": schema.StringAttribute{Required: true},
					"port": schema.Int64Attribute{Optional: true},
				}},
			},
			"members": schema.MapNestedAttribute{
				Optional: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"role":   schema.StringAttribute{Required: true},
					"handle": schema.StringAttribute{Computed: true, PlanModifiers: keep},
				}},
			},
			"payload":          schema.DynamicAttribute{Optional: true},
			"password":         schema.StringAttribute{Optional: true, WriteOnly: true},
			"password_version": schema.Int64Attribute{Optional: true},
			"revision":         schema.Int64Attribute{Computed: true},
			"fault": schema.StringAttribute{
				Optional:    true,
				Description: faultDescription,
			},
		},
	}
}

func (r *objectResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"id": identityschema.StringAttribute{RequiredForImport: true},
		},
	}
}

// UpgradeState reads version 0, which had the size as text.
func (r *objectResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	prior := schema.Schema{Attributes: map[string]schema.Attribute{
		"id":   schema.StringAttribute{Computed: true},
		"name": schema.StringAttribute{Required: true},
		"size": schema.StringAttribute{Optional: true},
	}}
	return map[int64]resource.StateUpgrader{0: {PriorSchema: &prior, StateUpgrader: upgradeSize}}
}
