package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// leaseResource is lab_lease: a secret that wants to be renewed and closed. Each step adds a line
// to <directory>/leases.log, so that a test sees that it happened.
type leaseResource struct {
	store *store
}

type leaseModel struct {
	Name         types.String `tfsdk:"name"`
	RenewSeconds types.Int64  `tfsdk:"renew_seconds"`
	Secret       types.String `tfsdk:"secret"`
}

func (l *leaseResource) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_lease"
}

func (l *leaseResource) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"name":          schema.StringAttribute{Required: true},
			"renew_seconds": schema.Int64Attribute{Optional: true, Description: "Renew after so long."},
			"secret":        schema.StringAttribute{Computed: true, Sensitive: true},
		},
	}
}

func (l *leaseResource) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	if store, ok := req.ProviderData.(*store); ok {
		l.store = store
	}
}

func (l *leaseResource) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var model leaseModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	name := model.Name.ValueString()
	model.Secret = types.StringValue("secret-of-" + name)
	resp.Diagnostics.Append(l.note("open", name)...)
	resp.Diagnostics.Append(resp.Result.Set(ctx, &model)...)
	private := fmt.Sprintf(`{"name":%q,"seconds":%d}`, name, model.RenewSeconds.ValueInt64())
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "lease", []byte(private))...)
	resp.RenewAt = renewAt(model.RenewSeconds.ValueInt64())
}

func (l *leaseResource) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	private, diags := req.Private.GetKey(ctx, "lease")
	resp.Diagnostics.Append(diags...)
	lease := parseLease(private)
	resp.Diagnostics.Append(l.note("renew", lease.Name)...)
	resp.RenewAt = renewAt(lease.Seconds)
}

func (l *leaseResource) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	private, diags := req.Private.GetKey(ctx, "lease")
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(l.note("close", parseLease(private).Name)...)
}

// renewAt is the zero time, which means never, for zero seconds.
func renewAt(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(seconds) * time.Second)
}

func (l *leaseResource) note(step, name string) diag.Diagnostics {
	var diags diag.Diagnostics
	if err := appendLine(filepath.Join(l.store.directory, "leases.log"), step+" "+name); err != nil {
		diags.AddError("Cannot write the log of leases", err.Error())
	}
	return diags
}

func appendLine(file, line string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = log.WriteString(line + "\n")
	if closed := log.Close(); err == nil {
		err = closed
	}
	return err
}

// leasePrivate is what an open lease remembers for its renewals and its end.
type leasePrivate struct {
	Name    string `json:"name"`
	Seconds int64  `json:"seconds"`
}

func parseLease(private []byte) leasePrivate {
	var lease leasePrivate
	// Lost private bytes show up in the log as a lease without a name.
	_ = json.Unmarshal(private, &lease)
	return lease
}
