package main

import (
	"context"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const faultDescription = "How to misbehave, as <what>-<when>: " +
	"fail, hang (until the call is cancelled) or crash, in plan, create, update or delete. " +
	"wrong, in create or update, answers with another size than planned; " +
	"taint-create fails after the object was made."

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
	return true
}

// answerWrongly makes the answer differ from the plan where the attribute asks for that.
func answerWrongly(model *objectModel, when string) {
	if model.Fault.ValueString() == "wrong-"+when {
		model.Size = types.Int64Value(model.Size.ValueInt64() + 1)
	}
}
