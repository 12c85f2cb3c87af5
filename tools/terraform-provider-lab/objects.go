package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// objectsDataSource is lab_objects: what is in the store, in the order of the names.
type objectsDataSource struct {
	store *store
}

type objectsModel struct {
	Prefix  types.String     `tfsdk:"prefix"`
	Objects []objectsElement `tfsdk:"objects"`
}

type objectsElement struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Size types.Int64  `tfsdk:"size"`
}

func (d *objectsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_objects"
}

func (d *objectsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"prefix": schema.StringAttribute{Optional: true, Description: "Only names that begin so."},
			"objects": schema.ListNestedAttribute{
				Computed: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":   schema.StringAttribute{Computed: true},
					"name": schema.StringAttribute{Computed: true},
					"size": schema.Int64Attribute{Computed: true},
				}},
			},
		},
	}
}

func (d *objectsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	if store, ok := req.ProviderData.(*store); ok {
		d.store = store
	}
}

func (d *objectsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model objectsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	records, err := d.store.list()
	if err != nil {
		resp.Diagnostics.AddError("Cannot list the objects", err.Error())
		return
	}
	model.Objects = []objectsElement{}
	prefix := model.Prefix.ValueString()
	for _, found := range records {
		if len(found.Name) >= len(prefix) && found.Name[:len(prefix)] == prefix {
			model.Objects = append(model.Objects, objectsElement{
				ID:   types.StringValue(found.ID),
				Name: types.StringValue(found.Name),
				Size: types.Int64Value(found.Size),
			})
		}
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
}
