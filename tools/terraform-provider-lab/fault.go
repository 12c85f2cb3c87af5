package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const faultDescription = "How to misbehave, as <what>-<when>: " +
	"fail, hang (until the call is cancelled) or crash, in plan, create, update or delete. " +
	"wrong, in create or update, answers with another size than planned; " +
	"taint-create fails after the object was made; " +
	"wait-<when>:<file> makes <file>.waits, and goes on when there is such a file."

// misbehave does what the attribute asks for at this moment. It returns false when the call must
// end there.
func misbehave(ctx context.Context, fault, when string, diags *diag.Diagnostics) bool {
	switch fault {
	case "fail-" + when:
		diags.AddAttributeError(pathRoot("fault"), "Failed on request", "The fault says fail-"+when+".")
		return false
	case "hang-" + when:
		select {
		case <-ctx.Done():
			diags.AddError("Cancelled", ctx.Err().Error())
		case <-time.After(10 * time.Minute):
			diags.AddError("Nobody cancelled the call", "It hung for ten minutes.")
		}
		return false
	case "crash-" + when:
		os.Exit(3)
	}
	if what, file, hasFile := strings.Cut(fault, ":"); hasFile && what == "wait-"+when {
		return waitForFile(ctx, file, diags)
	}
	return true
}

// waitForFile says that it waits, and returns true when there is such a file, and false where the call is cancelled before.
func waitForFile(ctx context.Context, file string, diags *diag.Diagnostics) bool {
	if err := os.WriteFile(file+".waits", nil, 0o600); err != nil {
		diags.AddError("Cannot say that it waits", err.Error())
		return false
	}
	for {
		if _, err := os.Stat(file); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			diags.AddError("Cancelled", ctx.Err().Error())
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// answerWrongly makes the answer differ from the plan where the attribute asks for that.
func answerWrongly(model *objectModel, when string) {
	if model.Fault.ValueString() == "wrong-"+when {
		model.Size = types.Int64Value(model.Size.ValueInt64() + 1)
	}
}
