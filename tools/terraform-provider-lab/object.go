package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type objectResource struct {
	store *store
}

func (r *objectResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_object"
}

func (r *objectResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if store, ok := req.ProviderData.(*store); ok {
		r.store = store
	}
}

// ModifyPlan says that every update makes a new revision, and only an update does.
func (r *objectResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var fault types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, pathRoot("fault"), &fault)...)
	if resp.Diagnostics.HasError() || !misbehave(ctx, fault.ValueString(), "plan", &resp.Diagnostics) {
		return
	}
	if !req.State.Raw.IsNull() && req.Plan.Raw.Equal(req.State.Raw) {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, pathRoot("revision"), types.Int64Unknown())...)
}

func (r *objectResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan objectModel
	var password types.String
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, pathRoot("password"), &password)...)
	fault := plan.Fault.ValueString()
	if resp.Diagnostics.HasError() || !misbehave(ctx, fault, "create", &resp.Diagnostics) {
		return
	}
	plan.ID = types.StringValue(newID())
	resp.Diagnostics.Append(r.store.save(&plan, 1, password)...)
	answerWrongly(&plan, "create")
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, objectIdentity{ID: plan.ID})...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "created", []byte(strconv.Quote(plan.ID.ValueString())))...)
	if fault == "taint-create" {
		resp.Diagnostics.AddError("Half made", "The object exists, and something after that failed.")
	}
}

func (r *objectResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state objectModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	found, err := r.store.read(state.ID.ValueString())
	if err != nil {
		resp.Diagnostics.AddError("Cannot read the object", err.Error())
		return
	}
	if found == nil {
		resp.State.RemoveResource(ctx)
		return
	}
	state.Name = types.StringValue(found.Name)
	state.Size = types.Int64Value(found.Size)
	state.Revision = types.Int64Value(found.Revision)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, objectIdentity{ID: state.ID})...)
}

func (r *objectResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state objectModel
	var password types.String
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, pathRoot("password"), &password)...)
	if resp.Diagnostics.HasError() || !misbehave(ctx, plan.Fault.ValueString(), "update", &resp.Diagnostics) {
		return
	}
	// Private bytes must come back as they were given, or this object is not ours.
	created, diags := req.Private.GetKey(ctx, "created")
	resp.Diagnostics.Append(diags...)
	if created != nil && string(created) != strconv.Quote(state.ID.ValueString()) {
		resp.Diagnostics.AddError("Private bytes of another object", fmt.Sprintf("found %s", created))
		return
	}
	resp.Diagnostics.Append(r.store.save(&plan, state.Revision.ValueInt64()+1, password)...)
	answerWrongly(&plan, "update")
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, objectIdentity{ID: plan.ID})...)
}

func (r *objectResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state objectModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() ||
		!misbehave(ctx, state.Fault.ValueString(), "delete", &resp.Diagnostics) {
		return
	}
	if err := r.store.remove(state.ID.ValueString()); err != nil {
		resp.Diagnostics.AddError("Cannot remove the object", err.Error())
	}
}

func (r *objectResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, pathRoot("id"), pathRoot("id"), req, resp)
}

// save writes the file and fills in what only the provider knows.
func (s *store) save(model *objectModel, revision int64, password types.String) diag.Diagnostics {
	var diags diag.Diagnostics
	id := model.ID.ValueString()
	err := s.write(record{
		ID:       id,
		Name:     model.Name.ValueString(),
		Size:     model.Size.ValueInt64(),
		Revision: revision,
		Password: password.ValueString(),
	})
	if err != nil {
		diags.AddError("Cannot write the object", err.Error())
	}
	model.Revision = types.Int64Value(revision)
	// Terraform never hands a write-only value back, so neither may we.
	model.Password = types.StringNull()
	members, more := withHandles(id, model.Members)
	diags.Append(more...)
	model.Members = members
	return diags
}

// withHandles gives every member that has no handle yet one that follows from its key.
func withHandles(id string, members types.Map) (types.Map, diag.Diagnostics) {
	if members.IsNull() {
		return members, nil
	}
	elements := map[string]attr.Value{}
	for key, element := range members.Elements() {
		member, ok := element.(types.Object)
		if !ok {
			continue
		}
		attributes := member.Attributes()
		if attributes["handle"].IsUnknown() {
			attributes["handle"] = types.StringValue(id + "/" + key)
		}
		elements[key] = types.ObjectValueMust(member.AttributeTypes(context.Background()), attributes)
	}
	return types.MapValue(members.ElementType(context.Background()), elements)
}

func upgradeSize(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
	var id, name, text types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, pathRoot("id"), &id)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, pathRoot("name"), &name)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, pathRoot("size"), &text)...)
	size, err := strconv.ParseInt(text.ValueString(), 10, 64)
	if err != nil {
		resp.Diagnostics.AddAttributeError(pathRoot("size"), "Size is not a number", err.Error())
	}
	if resp.Diagnostics.HasError() {
		return
	}
	// Everything that version 0 did not have is null.
	resp.State.Raw = tftypes.NewValue(resp.State.Schema.Type().TerraformType(ctx), nil)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, pathRoot("id"), id)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, pathRoot("name"), name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, pathRoot("size"), size)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, pathRoot("revision"), int64(1))...)
}
