// Command tfe-client calls the routes of variables and variable sets of a server by HashiCorp's client, which is unmodified, and
// writes what the client made of each answer as a line of JSON.
//
// It finds TFE_ADDRESS and TFE_TOKEN in its environment; its arguments are an organization, a workspace and a project by their ids.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	tfe "github.com/hashicorp/go-tfe"
)

var out = json.NewEncoder(os.Stdout)

// say writes one step with what came of it.
func say(step string, value any, err error) {
	line := map[string]any{"step": step, "value": value}
	if err != nil {
		line["error"] = err.Error()
		line["notFound"] = errors.Is(err, tfe.ErrResourceNotFound)
	}
	if err := out.Encode(line); err != nil {
		panic(err)
	}
}

func variable(v *tfe.Variable, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	owner := ""
	if v.Workspace != nil {
		owner = v.Workspace.ID
	}
	return fact(v.Key, v.Value, v.Description, v.Category, v.Sensitive, owner), nil
}

func setVariable(v *tfe.VariableSetVariable, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	owner := ""
	if v.VariableSet != nil {
		owner = v.VariableSet.ID
	}
	return fact(v.Key, v.Value, v.Description, v.Category, v.Sensitive, owner), nil
}

func fact(key, value, description string, category tfe.CategoryType, sensitive bool, owner string) any {
	return map[string]any{
		"key": key, "value": value, "description": description,
		"category": category, "sensitive": sensitive, "owner": owner,
	}
}

func set(s *tfe.VariableSet, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	workspaces, projects, variables := []string{}, []string{}, []string{}
	for _, w := range s.Workspaces {
		workspaces = append(workspaces, w.ID+" "+w.Name)
	}
	for _, p := range s.Projects {
		projects = append(projects, p.ID+" "+p.Name)
	}
	for _, v := range s.Variables {
		variables = append(variables, v.Key)
	}
	parent := ""
	if s.Parent != nil && s.Parent.Project != nil {
		parent = s.Parent.Project.ID
	}
	return map[string]any{
		"name": s.Name, "description": s.Description, "global": s.Global, "priority": s.Priority,
		"organization": s.Organization.Name, "parent": parent,
		"workspaces": workspaces, "projects": projects, "variables": variables,
	}, nil
}

func names(l *tfe.VariableSetList, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, s := range l.Items {
		found = append(found, s.Name)
	}
	return map[string]any{"names": found, "total": l.TotalCount}, nil
}

func keys(l *tfe.VariableList, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, v := range l.Items {
		found = append(found, v.Key+"="+v.Value)
	}
	return found, nil
}

func run(organization, workspaceID, projectID string) error {
	client, err := tfe.NewClient(tfe.DefaultConfig())
	if err != nil {
		return err
	}
	ctx := context.Background()
	tell := func(step string) func(any, error) {
		return func(value any, err error) { say(step, value, err) }
	}

	own, err := client.Variables.Create(ctx, workspaceID, tfe.VariableCreateOptions{
		Key: tfe.String("who"), Value: tfe.String("ann"), Category: tfe.Category(tfe.CategoryTerraform),
		Description: tfe.String("d"), HCL: tfe.Bool(false), Sensitive: tfe.Bool(false),
	})
	if err != nil {
		return fmt.Errorf("create a variable: %w", err)
	}
	tell("variable")(variable(own, nil))
	tell("variable updated")(variable(client.Variables.Update(ctx, workspaceID, own.ID, tfe.VariableUpdateOptions{
		Key: tfe.String("who"), Value: tfe.String("ben"), HCL: tfe.Bool(false), Sensitive: tfe.Bool(true),
	})))
	tell("variable no longer sensitive")(variable(client.Variables.Update(ctx, workspaceID, own.ID, tfe.VariableUpdateOptions{
		Sensitive: tfe.Bool(false),
	})))
	tell("variable taken")(variable(client.Variables.Create(ctx, workspaceID, tfe.VariableCreateOptions{
		Key: tfe.String("who"), Category: tfe.Category(tfe.CategoryTerraform),
	})))
	tell("variable read")(variable(client.Variables.Read(ctx, workspaceID, own.ID)))

	shared, err := client.VariableSets.Create(ctx, organization, &tfe.VariableSetCreateOptions{
		Name: tfe.String("shared"), Description: tfe.String("for all"), Global: tfe.Bool(false), Priority: tfe.Bool(false),
	})
	if err != nil {
		return fmt.Errorf("create a set: %w", err)
	}
	tell("set")(set(shared, nil))
	ofProject, err := client.VariableSets.Create(ctx, organization, &tfe.VariableSetCreateOptions{
		Name: tfe.String("own"), Global: tfe.Bool(false), Parent: &tfe.Parent{Project: &tfe.Project{ID: projectID}},
	})
	if err != nil {
		return fmt.Errorf("create a set of a project: %w", err)
	}
	tell("set of a project")(set(ofProject, nil))

	secret, err := client.VariableSetVariables.Create(ctx, shared.ID, &tfe.VariableSetVariableCreateOptions{
		Key: tfe.String("TOKEN"), Value: tfe.String("s3cret"), Category: tfe.Category(tfe.CategoryEnv), Sensitive: tfe.Bool(true),
	})
	if err != nil {
		return fmt.Errorf("create a variable of a set: %w", err)
	}
	tell("set variable")(setVariable(secret, nil))
	tell("set variable updated")(setVariable(client.VariableSetVariables.Update(ctx, shared.ID, secret.ID, &tfe.VariableSetVariableUpdateOptions{
		Key: tfe.String("TOKEN"), Description: tfe.String("kept"), Sensitive: tfe.Bool(true),
	})))
	tell("set variable read")(setVariable(client.VariableSetVariables.Read(ctx, shared.ID, secret.ID)))

	workspaces := []*tfe.Workspace{{ID: workspaceID}}
	projects := []*tfe.Project{{ID: projectID}}
	say("apply to workspaces", nil, client.VariableSets.ApplyToWorkspaces(ctx, shared.ID, &tfe.VariableSetApplyToWorkspacesOptions{Workspaces: workspaces}))
	say("apply to projects", nil, client.VariableSets.ApplyToProjects(ctx, shared.ID, tfe.VariableSetApplyToProjectsOptions{Projects: projects}))
	includes := []tfe.VariableSetIncludeOpt{tfe.VariableSetWorkspaces, tfe.VariableSetProjects, tfe.VariableSetVars}
	tell("set read")(set(client.VariableSets.Read(ctx, shared.ID, &tfe.VariableSetReadOptions{Include: &includes})))
	tell("sets")(names(client.VariableSets.List(ctx, organization, &tfe.VariableSetListOptions{Include: string(tfe.VariableSetWorkspaces)})))
	tell("sets of the workspace")(names(client.VariableSets.ListForWorkspace(ctx, workspaceID, nil)))
	tell("sets of the project")(names(client.VariableSets.ListForProject(ctx, projectID, nil)))
	tell("own variables")(keys(client.Variables.List(ctx, workspaceID, nil)))
	tell("all variables")(keys(client.Variables.ListAll(ctx, workspaceID, nil)))

	say("remove from projects", nil, client.VariableSets.RemoveFromProjects(ctx, shared.ID, tfe.VariableSetRemoveFromProjectsOptions{Projects: projects}))
	tell("workspaces updated")(set(client.VariableSets.UpdateWorkspaces(ctx, shared.ID, &tfe.VariableSetUpdateWorkspacesOptions{Workspaces: workspaces})))
	say("remove from workspaces", nil, client.VariableSets.RemoveFromWorkspaces(ctx, shared.ID, &tfe.VariableSetRemoveFromWorkspacesOptions{Workspaces: workspaces}))
	tell("set updated")(set(client.VariableSets.Update(ctx, shared.ID, &tfe.VariableSetUpdateOptions{
		Name: tfe.String("shared"), Description: tfe.String(""), Global: tfe.Bool(true), Priority: tfe.Bool(true),
	})))

	say("set variable deleted", nil, client.VariableSetVariables.Delete(ctx, shared.ID, secret.ID))
	say("set deleted", nil, client.VariableSets.Delete(ctx, shared.ID))
	tell("set gone")(set(client.VariableSets.Read(ctx, shared.ID, nil)))
	say("variable deleted", nil, client.Variables.Delete(ctx, workspaceID, own.ID))
	tell("variable gone")(variable(client.Variables.Read(ctx, workspaceID, own.ID)))
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Println("usage: tfe-client ORGANIZATION WORKSPACE PROJECT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
