import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";

/** Every operation of the service that its SDKs have a method for. */
const OPERATIONS: readonly (readonly [name: string, method: string, path: string])[] = [
  ["ListStacks", "GET", "/{project_id}/stacks"],
  ["CreateStack", "POST", "/{project_id}/stacks"],
  ["DeleteStack", "DELETE", "/{project_id}/stacks/{stack_name}"],
  ["UpdateStack", "PATCH", "/{project_id}/stacks/{stack_name}"],
  ["ContinueDeployStack", "POST", "/{project_id}/stacks/{stack_name}/continuations"],
  ["DeleteStackEnhanced", "POST", "/{project_id}/stacks/{stack_name}/deletion"],
  ["DeployStack", "POST", "/{project_id}/stacks/{stack_name}/deployments"],
  ["ListStackEvents", "GET", "/{project_id}/stacks/{stack_name}/events"],
  ["GetStackMetadata", "GET", "/{project_id}/stacks/{stack_name}/metadata"],
  ["ListStackOutputs", "GET", "/{project_id}/stacks/{stack_name}/outputs"],
  ["ListStackResources", "GET", "/{project_id}/stacks/{stack_name}/resources"],
  ["ContinueRollbackStack", "POST", "/{project_id}/stacks/{stack_name}/rollbacks"],
  ["GetStackTemplate", "GET", "/{project_id}/stacks/{stack_name}/templates"],
  ["ListExecutionPlans", "GET", "/{project_id}/stacks/{stack_name}/execution-plans"],
  ["CreateExecutionPlan", "POST", "/{project_id}/stacks/{stack_name}/execution-plans"],
  [
    "DeleteExecutionPlan",
    "DELETE",
    "/{project_id}/stacks/{stack_name}/execution-plans/{execution_plan_name}",
  ],
  [
    "GetExecutionPlan",
    "GET",
    "/{project_id}/stacks/{stack_name}/execution-plans/{execution_plan_name}",
  ],
  [
    "ApplyExecutionPlan",
    "POST",
    "/{project_id}/stacks/{stack_name}/execution-plans/{execution_plan_name}",
  ],
  [
    "GetExecutionPlanMetadata",
    "GET",
    "/{project_id}/stacks/{stack_name}/execution-plans/{execution_plan_name}/metadata",
  ],
  [
    "EstimateExecutionPlanPrice",
    "GET",
    "/{project_id}/stacks/{stack_name}/execution-plans/{execution_plan_name}/prices",
  ],
  ["ListStackSets", "GET", "/stack-sets"],
  ["CreateStackSet", "POST", "/stack-sets"],
  ["DeleteStackSet", "DELETE", "/stack-sets/{stack_set_name}"],
  ["UpdateStackSet", "PATCH", "/stack-sets/{stack_set_name}"],
  ["DeployStackSet", "POST", "/stack-sets/{stack_set_name}/deployments"],
  ["ShowStackSetMetadata", "GET", "/stack-sets/{stack_set_name}/metadata"],
  ["ListStackSetOperations", "GET", "/stack-sets/{stack_set_name}/operations"],
  [
    "ShowStackSetOperationMetadata",
    "GET",
    "/stack-sets/{stack_set_name}/operations/{stack_set_operation_id}/metadata",
  ],
  ["DeleteStackInstanceDeprecated", "DELETE", "/stack-sets/{stack_set_name}/stack-instances"],
  ["ListStackInstances", "GET", "/stack-sets/{stack_set_name}/stack-instances"],
  ["UpdateStackInstances", "PATCH", "/stack-sets/{stack_set_name}/stack-instances"],
  ["CreateStackInstance", "POST", "/stack-sets/{stack_set_name}/stack-instances"],
  ["DeleteStackInstance", "POST", "/stack-sets/{stack_set_name}/stack-instances/deletion"],
  [
    "ShowStackInstance",
    "GET",
    "/stack-sets/{stack_set_name}/stack-instances/{stack_instance_addr}",
  ],
  ["ShowStackSetTemplate", "GET", "/stack-sets/{stack_set_name}/templates"],
  ["ParseTemplateVariables", "POST", "/{project_id}/template-analyses/variables"],
  ["ListTemplates", "GET", "/{project_id}/templates"],
  ["CreateTemplate", "POST", "/{project_id}/templates"],
  ["DeleteTemplate", "DELETE", "/{project_id}/templates/{template_name}"],
  ["ShowTemplateMetadata", "GET", "/{project_id}/templates/{template_name}/metadata"],
  ["UpdateTemplateMetadata", "PATCH", "/{project_id}/templates/{template_name}/metadata"],
  ["ListTemplateVersions", "GET", "/{project_id}/templates/{template_name}/versions"],
  ["CreateTemplateVersion", "POST", "/{project_id}/templates/{template_name}/versions"],
  [
    "DeleteTemplateVersion",
    "DELETE",
    "/{project_id}/templates/{template_name}/versions/{version_id}",
  ],
  [
    "ShowTemplateVersionContent",
    "GET",
    "/{project_id}/templates/{template_name}/versions/{version_id}",
  ],
  [
    "ShowTemplateVersionMetadata",
    "GET",
    "/{project_id}/templates/{template_name}/versions/{version_id}/metadata",
  ],
  ["ListPrivateModules", "GET", "/private-modules"],
  ["CreatePrivateModule", "POST", "/private-modules"],
  ["DeletePrivateModule", "DELETE", "/private-modules/{module_name}"],
  ["ShowPrivateModuleMetadata", "GET", "/private-modules/{module_name}/metadata"],
  ["UpdatePrivateModuleMetadata", "PATCH", "/private-modules/{module_name}/metadata"],
  ["ListPrivateModuleVersions", "GET", "/private-modules/{module_name}/versions"],
  ["CreatePrivateModuleVersion", "POST", "/private-modules/{module_name}/versions"],
  [
    "DeletePrivateModuleVersion",
    "DELETE",
    "/private-modules/{module_name}/versions/{module_version}",
  ],
  [
    "ShowPrivateModuleVersionContent",
    "GET",
    "/private-modules/{module_name}/versions/{module_version}",
  ],
  [
    "ShowPrivateModuleVersionMetadata",
    "GET",
    "/private-modules/{module_name}/versions/{module_version}/metadata",
  ],
  ["ListPrivateHooks", "GET", "/private-hooks"],
  ["CreatePrivateHook", "POST", "/private-hooks"],
  ["DeletePrivateHook", "DELETE", "/private-hooks/{hook_name}"],
  ["ShowPrivateHookMetadata", "GET", "/private-hooks/{hook_name}/metadata"],
  ["UpdatePrivateHookMetadata", "PATCH", "/private-hooks/{hook_name}/metadata"],
  ["ListPrivateHookVersions", "GET", "/private-hooks/{hook_name}/versions"],
  ["CreatePrivateHookVersion", "POST", "/private-hooks/{hook_name}/versions"],
  ["DeletePrivateHookVersion", "DELETE", "/private-hooks/{hook_name}/versions/{hook_version}"],
  [
    "ShowPrivateHookVersionMetadata",
    "GET",
    "/private-hooks/{hook_name}/versions/{hook_version}/metadata",
  ],
  [
    "ShowPrivateHookVersionPolicy",
    "GET",
    "/private-hooks/{hook_name}/versions/{hook_version}/policies",
  ],
  ["ListPrivateProviders", "GET", "/private-providers"],
  ["CreatePrivateProvider", "POST", "/private-providers"],
  ["DeletePrivateProvider", "DELETE", "/private-providers/{provider_name}"],
  ["ShowPrivateProviderMetadata", "GET", "/private-providers/{provider_name}/metadata"],
  ["UpdatePrivateProviderMetadata", "PATCH", "/private-providers/{provider_name}/metadata"],
  ["ListPrivateProviderVersions", "GET", "/private-providers/{provider_name}/versions"],
  ["CreatePrivateProviderVersion", "POST", "/private-providers/{provider_name}/versions"],
  [
    "DeletePrivateProviderVersion",
    "DELETE",
    "/private-providers/{provider_name}/versions/{provider_version}",
  ],
  [
    "ShowPrivateProviderVersionMetadata",
    "GET",
    "/private-providers/{provider_name}/versions/{provider_version}/metadata",
  ],
];

/** The service answers so where it has no such operation. */
const NO_OPERATION = "RF.10900303";
const NOT_OFFERED = "RF.10905005";

it("answers every operation of the service with a documented error at least", async () => {
  const api = await startApi("none");
  const refused: string[] = [];
  for (const [name, method, path] of OPERATIONS) {
    const url = `/v1${path.replace("{project_id}", "web").replaceAll(/\{\w+\}/g, "one")}`;
    const { status, json } = await api.call(method, url, {
      token: "",
      headers: { "client-request-id": randomUUID(), "x-auth-token": api.first.token },
      ...((method === "POST" || method === "PATCH") && { body: {} }),
    });
    const code = json["error_code"];
    const isAnswered = status < 300 || (typeof code === "string" && code !== NO_OPERATION);
    expect([name, status, code, isAnswered]).toEqual([name, status, code, true]);
    if (code === NOT_OFFERED) refused.push(name);
    if (name === "CreatePrivateModule") {
      expect(json["error_msg"]).toContain("stackwright modules publish");
    }
  }
  expect(OPERATIONS).toHaveLength(75);
  expect(refused.every((name) => /Private(Module|Hook)/.test(name))).toBe(true);
  expect(refused).toHaveLength(20);
}, 60_000);
