import { expect, it, onTestFinished, vi } from "vitest";
import { officialClient } from "../testing/official-client.ts";
import { startApi } from "../testing/start-api.ts";

const TEMPLATE = `
variable "word" {
  type        = string
  description = "what is kept"
}
variable "secret" {
  type      = string
  sensitive = true
  default   = "none"
}
variable "count_of" {
  type    = number
  default = 1
}
resource "terraform_data" "kept" {
  count = var.count_of
  input = var.word
}
output "word" { value = var.word }
output "secret" {
  value     = var.secret
  sensitive = true
}
`;

const STACKS = "/v1/{project_id}/stacks";
const STACK = `${STACKS}/{stack_name}`;
const PLANS = `${STACK}/execution-plans`;
const PLAN = `${PLANS}/{execution_plan_name}`;
const TEMPLATES = "/v1/{project_id}/templates";

async function start(executor: "in-process" | "none" = "in-process") {
  const api = await startApi(executor);
  const key = await api.server.credentials.createKey({ account: "default", roles: ["admin"] });
  const send = await officialClient({ endpoint: api.server.url, project: "web", ...key });
  // The client prints every refused request, with its signature.
  const quiet = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => quiet.mockRestore());
  const at = { stack_name: "shop" };
  const metadata = async () => send({ method: "GET", url: `${STACK}/metadata`, pathParams: at });
  const reaches = async (status: string) =>
    vi.waitFor(async () => expect((await metadata())["status"]).toBe(status), {
      timeout: 20_000,
      interval: 50,
    });
  const refused = async (call: Parameters<typeof send>[0], status: number, code?: string) =>
    expect(send(call)).rejects.toMatchObject({
      httpStatusCode: status,
      ...(code !== undefined && { errorCode: code }),
    });
  const create = async (data: Record<string, unknown> = {}) =>
    send({ method: "POST", url: STACKS, data: { stack_name: "shop", ...data } });
  return { ...api, send, at, metadata, reaches, refused, create };
}

it("deploys, shows, changes and deletes a stack by the official client alone", async () => {
  const { send, at, metadata, reaches, refused, create, call } = await start();
  const made = await create({
    description: "a shop",
    template_body: TEMPLATE,
    vars_structure: [
      { var_key: "word", var_value: "one ${not} a template" },
      { var_key: "count_of", var_value: "2" },
    ],
    vars_body: 'secret = "s3cret"\n',
  });
  expect(made).toMatchObject({ httpStatusCode: 201, deployment_id: expect.any(String) as string });
  await refused({ method: "POST", url: STACKS, data: { stack_name: "shop" } }, 409, "RF.10013502");
  await reaches("DEPLOYMENT_COMPLETE");
  expect(await metadata()).toMatchObject({ stack_id: made["stack_id"], description: "a shop" });
  const { stacks } = await send({ method: "GET", url: STACKS });
  expect(stacks).toMatchObject([{ stack_name: "shop", status: "DEPLOYMENT_COMPLETE" }]);

  const outputs = await send({ method: "GET", url: `${STACK}/outputs`, pathParams: at });
  expect(outputs["outputs"]).toMatchObject([
    { name: "secret", value: "<sensitive>", type: "<sensitive>", sensitive: true },
    { name: "word", value: "one ${not} a template", type: "string" },
  ]);
  const resources = await send({ method: "GET", url: `${STACK}/resources`, pathParams: at });
  expect(resources["stack_resources"]).toMatchObject([
    {
      logical_resource_type: "terraform_data",
      logical_resource_name: "kept",
      index_key: "0",
      resource_status: "CREATION_COMPLETE",
      resource_attributes: expect.arrayContaining([
        { key: "input", value: expect.stringContaining("one ${not} a template") as string },
      ]) as unknown[],
    },
    { index_key: "1" },
  ]);
  const events = async (queryParams: Record<string, string>) =>
    (await send({ method: "GET", url: `${STACK}/events`, pathParams: at, queryParams }))[
      "stack_events"
    ];
  expect(
    await events({
      deployment_id: String(made["deployment_id"]),
      filter: "event_type==CREATION_COMPLETE|event_type==SUMMARY,resource_name==kept",
      field: "resource_name,resource_key",
    }),
  ).toEqual([
    {
      event_type: "CREATION_COMPLETE",
      resource_name: "kept",
      resource_key: expect.any(String) as string,
    },
    {
      event_type: "CREATION_COMPLETE",
      resource_name: "kept",
      resource_key: expect.any(String) as string,
    },
  ]);
  const everything = JSON.stringify([outputs, resources, await events({}), await metadata()]);
  expect(everything).not.toContain("s3cret");

  // The template as it was, by the link that the client follows with its own headers.
  const template = await send({ method: "GET", url: `${STACK}/templates`, pathParams: at });
  expect(JSON.stringify(template)).toContain("what is kept");

  // A run of the console has the values of the deployment.
  const upload = await call("GET", "/api/v1/projects/web/stacks/shop/runs");
  const [run] = upload.json["runs"] as { configuration: string }[];
  const planned = await call("POST", "/api/v1/projects/web/stacks/shop/runs", {
    body: { configuration: run?.configuration, mode: "plan_only" },
  });
  expect(planned.status).toBe(201);
  const path = `/api/v1/projects/web/stacks/shop/runs/${String(planned.json["id"])}`;
  await vi.waitFor(async () => expect((await call("GET", path)).json["phase"]).toBe("no_changes"), {
    timeout: 20_000,
    interval: 50,
  });

  // A full statement: the count that is not given any more is the default.
  await send({
    method: "POST",
    url: `${STACK}/deployments`,
    pathParams: at,
    data: { template_body: TEMPLATE, vars_body: 'word = "two"\n' },
  });
  await reaches("DEPLOYMENT_COMPLETE");
  const after = await send({ method: "GET", url: `${STACK}/resources`, pathParams: at });
  expect(after["stack_resources"]).toHaveLength(1);

  await send({
    method: "PATCH",
    url: STACK,
    pathParams: at,
    data: { enable_deletion_protection: true, description: "kept" },
  });
  await refused({ method: "DELETE", url: STACK, pathParams: at }, 403, "RF.10905008");
  await send({
    method: "PATCH",
    url: STACK,
    pathParams: at,
    data: { enable_deletion_protection: false },
  });
  await refused(
    { method: "DELETE", url: STACK, pathParams: at, queryParams: { stack_id: "other" } },
    400,
    "RF.10011015",
  );
  expect(await send({ method: "DELETE", url: STACK, pathParams: at })).toMatchObject({
    httpStatusCode: 202,
  });
  await vi.waitFor(
    async () =>
      refused({ method: "GET", url: `${STACK}/metadata`, pathParams: at }, 404, "RF.10013001"),
    {
      timeout: 20_000,
      interval: 50,
    },
  );
  // The name is free, and nothing of the former stack is left.
  expect(await create()).toMatchObject({ httpStatusCode: 201 });
  expect(await metadata()).toMatchObject({ status: "CREATION_COMPLETE", description: "" });
}, 60_000);

it("makes, shows and applies execution plans; a stale one is refused", async () => {
  const { send, at, reaches, refused, create, metadata } = await start();
  await create();
  const plan = async (name: string, word: string) =>
    send({
      method: "POST",
      url: PLANS,
      pathParams: at,
      data: { execution_plan_name: name, template_body: TEMPLATE, vars_body: `word = "${word}"` },
    });
  const inPlan = (name: string) => ({ ...at, execution_plan_name: name });
  const planReaches = async (name: string, status: string) =>
    vi.waitFor(
      async () => {
        const found = await send({
          method: "GET",
          url: `${PLAN}/metadata`,
          pathParams: inPlan(name),
        });
        expect(found["status"]).toBe(status);
        return found;
      },
      { timeout: 20_000, interval: 50 },
    );
  expect(await plan("first", "one")).toMatchObject({ httpStatusCode: 202 });
  expect(await planReaches("first", "AVAILABLE")).toMatchObject({
    summary: { resource_add: 1, resource_update: 0, resource_delete: 0, resource_import: 0 },
  });
  // A plan that waits does not keep a stack in progress.
  expect(await metadata()).toMatchObject({ status: "CREATION_COMPLETE" });
  await refused(
    {
      method: "POST",
      url: PLANS,
      pathParams: at,
      data: { execution_plan_name: "first", template_body: TEMPLATE },
    },
    409,
    "RF.10013501",
  );
  const items = await send({ method: "GET", url: PLAN, pathParams: inPlan("first") });
  expect(items["execution_plan_items"]).toMatchObject([
    {
      resource_type: "terraform_data",
      resource_name: "kept",
      index: "0",
      mode: "RESOURCE",
      action: "ADD",
      attributes: expect.arrayContaining([
        { name: "input", previous_value: "", target_value: "one" },
      ]) as unknown[],
    },
  ]);
  await plan("second", "two");
  await planReaches("second", "AVAILABLE");
  await refused(
    { method: "POST", url: PLAN, pathParams: inPlan("first"), data: {} },
    403,
    "RF.10905007",
  );
  await refused(
    { method: "GET", url: `${PLAN}/prices`, pathParams: inPlan("second") },
    501,
    "RF.10905013",
  );
  expect(
    await send({ method: "POST", url: PLAN, pathParams: inPlan("second"), data: {} }),
  ).toMatchObject({ httpStatusCode: 202, deployment_id: expect.any(String) as string });
  await planReaches("second", "APPLIED");
  await reaches("DEPLOYMENT_COMPLETE");
  const outputs = await send({ method: "GET", url: `${STACK}/outputs`, pathParams: at });
  expect(outputs["outputs"]).toContainEqual(
    expect.objectContaining({ name: "word", value: "two" }),
  );
  await refused({ method: "POST", url: PLAN, pathParams: inPlan("second"), data: {} }, 403);
  await send({ method: "DELETE", url: PLAN, pathParams: inPlan("first") });
  const left = await send({ method: "GET", url: PLANS, pathParams: at });
  expect(left["execution_plans"]).toMatchObject([{ execution_plan_name: "second" }]);
}, 60_000);

it("says that a deployment failed, and continues it", async () => {
  const { send, at, metadata, reaches, refused, create } = await start();
  const failing = `
locals { day = "today" }
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = local.day == "another"
      error_message = "not today"
    }
  }
}`;
  await create({ template_body: failing });
  await reaches("DEPLOYMENT_FAILED");
  expect(String((await metadata())["status_message"])).toContain("not today");
  const { stack_events: events } = await send({
    method: "GET",
    url: `${STACK}/events`,
    pathParams: at,
    queryParams: { filter: "event_type==ERROR" },
  });
  expect(JSON.stringify(events)).toContain("not today");
  await send({ method: "POST", url: `${STACK}/continuations`, pathParams: at, data: {} });
  await reaches("DEPLOYMENT_FAILED");
  await refused({ method: "POST", url: `${STACK}/rollbacks`, pathParams: at, data: {} }, 403);
  await send({
    method: "POST",
    url: `${STACK}/deployments`,
    pathParams: at,
    data: { template_body: JSON.stringify({ resource: { terraform_data: { a: {} } } }) },
  });
  await reaches("DEPLOYMENT_COMPLETE");
  await refused({ method: "POST", url: `${STACK}/continuations`, pathParams: at, data: {} }, 403);
}, 60_000);

it("deploys templates with the forms of declaring providers that the service has", async () => {
  const { send, at, reaches, create } = await start();
  const source = "terraform.io/builtin/terraform";
  await create({
    template_body: `
Provider "terraform" {
  source = "${source}"
}
resource "terraform_data" "a" {}`,
  });
  await reaches("DEPLOYMENT_COMPLETE");
  const template = {
    terraform: { required_providers: [{ terraform: { source } }] },
    resource: { terraform_data: { b: {} } },
  };
  await send({
    method: "POST",
    url: `${STACK}/deployments`,
    pathParams: at,
    data: { template_body: JSON.stringify(template) },
  });
  await reaches("DEPLOYMENT_COMPLETE");
  const { stack_resources: resources } = await send({
    method: "GET",
    url: `${STACK}/resources`,
    pathParams: at,
  });
  expect(resources).toMatchObject([{ logical_resource_name: "b" }]);
}, 60_000);

it("keeps templates with versions, and reads the variables of one", async () => {
  const { send, refused } = await start("none");
  const at = { template_name: "shop" };
  const made = await send({
    method: "POST",
    url: TEMPLATES,
    data: { template_name: "shop", template_body: TEMPLATE, template_description: "of shops" },
  });
  expect(made).toMatchObject({ httpStatusCode: 200, template_id: expect.any(String) as string });
  const url = `${TEMPLATES}/{template_name}`;
  const data = { template_body: 'output "two" { value = 2 }' };
  expect(
    await send({ method: "POST", url: `${url}/versions`, pathParams: at, data }),
  ).toMatchObject({ version_id: "V2" });
  const { versions } = await send({ method: "GET", url: `${url}/versions`, pathParams: at });
  expect(versions).toMatchObject([{ version_id: "V2" }, { version_id: "V1" }]);
  const version = { ...at, version_id: "V2" };
  const content = await send({
    method: "GET",
    url: `${url}/versions/{version_id}`,
    pathParams: version,
  });
  expect(JSON.stringify(content)).toContain("value = 2");
  await send({ method: "DELETE", url: `${url}/versions/{version_id}`, pathParams: version });
  await refused(
    { method: "GET", url: `${url}/versions/{version_id}/metadata`, pathParams: version },
    404,
  );
  expect(
    await send({ method: "POST", url: `${url}/versions`, pathParams: at, data }),
  ).toMatchObject({ version_id: "V3" });
  expect(await send({ method: "GET", url: `${url}/metadata`, pathParams: at })).toMatchObject({
    template_description: "of shops",
    latest_version_id: "V3",
  });
  await send({
    method: "PATCH",
    url: `${url}/metadata`,
    pathParams: at,
    data: { template_description: "new" },
  });
  expect((await send({ method: "GET", url: TEMPLATES }))["templates"]).toMatchObject([
    { template_name: "shop", template_description: "new" },
  ]);
  await send({ method: "DELETE", url, pathParams: at });
  await refused({ method: "GET", url: `${url}/metadata`, pathParams: at }, 404);

  const { variables } = await send({
    method: "POST",
    url: "/v1/{project_id}/template-analyses/variables",
    data: { template_body: TEMPLATE },
  });
  expect(variables).toMatchObject([
    { name: "count_of", type: "number", default: "1", sensitive: false },
    { name: "secret", default: "<sensitive>", sensitive: true },
    { name: "word", type: "string", description: "what is kept" },
  ]);
}, 60_000);
