package stackwright

deny contains {"msg": sprintf("%s is called bad", [change.address]), "address": change.address} if {
	some change in input.plan.resource_changes
	change.name == "bad"
	change.change.actions != ["delete"]
}

warn contains sprintf("%s destroys everything", [input.run.actor]) if input.run.mode == "destroy"
