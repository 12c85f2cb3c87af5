import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signRequest } from "@stackwright/request-signing";
import { expect, it, onTestFinished, vi } from "vitest";
import { serve } from "../serve.ts";
import { officialClient } from "../testing/official-client.ts";
import { startApi } from "../testing/start-api.ts";

const SETS = "/v1/stack-sets";
const SET = `${SETS}/{stack_set_name}`;
const STACK = "/v1/{project_id}/stacks/{stack_name}";
const POLL = { timeout: 60_000, interval: 50 };

/** Refused where the word is bad. */
const TEMPLATE = `
variable "word" { type = string }
variable "secret" {
  type      = string
  sensitive = true
  default   = "none"
}
resource "terraform_data" "kept" {
  input = var.word
  lifecycle {
    precondition {
      condition     = var.word != "bad"
      error_message = "the word is bad"
    }
  }
}
output "word" { value = terraform_data.kept.output }
`;

async function start(executor: "in-process" | "none" = "in-process", store = "memory:") {
  const api = await startApi(executor, { store });
  const key = await api.server.credentials.createKey({ account: "default", roles: ["admin"] });
  const send = await officialClient({ endpoint: api.server.url, project: "web", ...key });
  // The client prints every refused request, with its signature.
  const quiet = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => quiet.mockRestore());
  const pathParams = { stack_set_name: "shops" };
  const get = async (part: string, queryParams: Record<string, string> = {}) =>
    send({ method: "GET", url: `${SET}/${part}`, pathParams, queryParams });
  const create = async (data: Record<string, unknown> = {}) =>
    send({
      method: "POST",
      url: SETS,
      data: {
        stack_set_name: "shops",
        template_body: TEMPLATE,
        vars_body: 'word = "one"\nsecret = "s3cret"',
        ...data,
      },
    });
  const request = async (method: string, part: string, data: Record<string, unknown>) =>
    send({ method, url: `${SET}/${part}`, pathParams, data });
  const inProjects = (...domains: readonly string[]) => ({
    deployment_targets: { regions: ["cn-north-4"], domain_ids: domains },
  });
  const ends = async (operation: unknown) =>
    vi.waitFor(async () => {
      const found = await get(`operations/${String(operation)}/metadata`);
      expect(found["status"]).toMatch(/_(COMPLETE|FAILED)$/);
      return found;
    }, POLL);
  const statuses = async () => {
    const { stack_instances: all } = await get("stack-instances");
    return Object.fromEntries(
      (all as Record<string, string>[]).map((one) => [one["stack_domain_id"], one["status"]]),
    );
  };
  const outputOf = async (project: string) => {
    const { stack_name: name } = await get(`stack-instances/cn-north-4/${project}`);
    const { outputs } = await send({
      method: "GET",
      url: `${STACK}/outputs`,
      pathParams: { project_id: project, stack_name: name },
    });
    return (outputs as { value: string }[])[0]?.value;
  };
  const remove = async () => send({ method: "DELETE", url: SET, pathParams });
  /** A request for one target with the signature of another one. */
  const signedGet = async (path: string, target: string) => {
    const id: [string, string] = ["client-request-id", randomUUID()];
    const signed = { method: "GET", target, headers: [id], body: new Uint8Array() };
    return fetch(api.server.url + path, { headers: signRequest(signed, key) });
  };
  return {
    ...api,
    send,
    pathParams,
    get,
    create,
    request,
    inProjects,
    ends,
    statuses,
    outputOf,
    remove,
    signedGet,
  };
}

it("deploys one template to several projects, changes and deletes them by the official client", async () => {
  const { send, call, signedGet, get, create, request, ...rest } = await start();
  const { inProjects, ends, statuses, outputOf, remove } = rest;
  const made = await create({
    stack_set_description: "shops",
    initial_stack_description: "a shop",
  });
  expect(made).toMatchObject({ httpStatusCode: 201, stack_set_id: expect.any(String) as string });
  await expect(create()).rejects.toMatchObject({ httpStatusCode: 409, errorCode: "RF.10905021" });
  expect(await get("metadata")).toMatchObject({
    status: "IDLE",
    permission_model: "SELF_MANAGED",
    vars_body: "<sensitive>",
  });
  expect(JSON.stringify(await get("templates"))).toContain("terraform_data");

  const begun = await request("POST", "stack-instances", {
    ...inProjects("web", "net"),
    var_overrides: { vars_body: 'word = "two"' },
  });
  expect(begun["httpStatusCode"]).toBe(202);
  expect(await get("metadata")).toMatchObject({ status: "OPERATION_IN_PROGRESS" });
  await expect(remove()).rejects.toMatchObject({ httpStatusCode: 403, errorCode: "RF.10905016" });
  expect(await ends(begun["stack_set_operation_id"])).toMatchObject({
    action: "CREATE_STACK_INSTANCES",
    status: "OPERATION_COMPLETE",
    deployment_targets: { regions: ["cn-north-4"], domain_ids: ["web", "net"] },
  });
  expect(await statuses()).toEqual({ web: "OPERATION_COMPLETE", net: "OPERATION_COMPLETE" });
  expect([await outputOf("web"), await outputOf("net")]).toEqual(["two", "two"]);

  // It is a stack like others, whose runs have the region.
  const shown = await get("stack-instances/cn-north-4/web");
  // The escaped form, which this client signs in another way than it sends it, as others do.
  expect(await get("stack-instances/cn-north-4%2Fweb")).toMatchObject({
    stack_id: shown["stack_id"],
  });
  const sent = `${SETS}/shops/stack-instances/cn-north-4%2Fweb`;
  for (const [target, status] of [
    [sent, 200],
    [sent.replace("%2F", "/"), 200],
    [sent.replace("web", "net"), 401],
  ] as const) {
    expect([target, (await signedGet(sent, target)).status]).toEqual([target, status]);
  }
  expect(shown).toMatchObject({
    region: "cn-north-4",
    var_overrides: { vars_body: "<sensitive>" },
  });
  const stack = `/api/v1/projects/web/stacks/${String(shown["stack_name"])}`;
  expect((await call("GET", `${stack}/variables`)).json["variables"]).toMatchObject([
    { key: "HW_REGION_NAME", category: "env", value: "cn-north-4" },
  ]);
  expect(
    await send({
      method: "GET",
      url: `${STACK}/metadata`,
      pathParams: { stack_name: shown["stack_name"] },
    }),
  ).toMatchObject({ description: "a shop", enable_auto_rollback: true });

  // What is overridden stays so when the set is deployed with another value, until the override is dropped.
  const updated = await request("PATCH", "stack-instances", {
    ...inProjects("net"),
    var_overrides: { use_stack_set_vars: ["word"] },
  });
  await ends(updated["stack_set_operation_id"]);
  expect([await outputOf("web"), await outputOf("net")]).toEqual(["two", "one"]);
  const deployed = await request("POST", "deployments", {
    template_body: TEMPLATE,
    vars_body: 'word = "three"',
  });
  await ends(deployed["stack_set_operation_id"]);
  expect([await outputOf("web"), await outputOf("net")]).toEqual(["two", "three"]);

  await expect(remove()).rejects.toMatchObject({ httpStatusCode: 403, errorCode: "RF.10905017" });
  const deleted = await request("POST", "stack-instances/deletion", inProjects("web"));
  await ends(deleted["stack_set_operation_id"]);
  expect(await statuses()).toEqual({ net: "OPERATION_COMPLETE" });
  // By the request that is deprecated, which has a body.
  const others = await request("DELETE", "stack-instances", inProjects("net"));
  await ends(others["stack_set_operation_id"]);
  const operations = await get("operations", { filter: "action==DELETE_STACK_INSTANCES" });
  expect(operations["stack_set_operations"]).toHaveLength(2);
  expect((await send({ method: "GET", url: "/v1/{project_id}/stacks" }))["stacks"]).toEqual([]);
  expect(await remove()).toMatchObject({ httpStatusCode: 204 });
  await expect(get("metadata")).rejects.toMatchObject({
    httpStatusCode: 404,
    errorCode: "RF.10905018",
  });
}, 120_000);

it("goes on as far as failures are tolerated, and says which instance failed and why", async () => {
  const { get, create, request, inProjects, ends, statuses } = await start();
  await create();
  const first = await request("POST", "stack-instances", {
    ...inProjects("bad"),
    var_overrides: { vars_body: 'word = "bad"' },
  });
  const failed = await ends(first["stack_set_operation_id"]);
  expect(failed).toMatchObject({ status: "OPERATION_FAILED" });
  expect(await get("stack-instances/cn-north-4/bad")).toMatchObject({
    status: "OPERATION_FAILED",
    status_message: expect.stringContaining("the word is bad") as string,
  });
  await ends(
    (await request("POST", "stack-instances", inProjects("web")))["stack_set_operation_id"],
  );
  // The instance that fails comes first.
  const all = { regions: ["cn-north-4"], domain_ids: ["bad", "web"] };
  const strict = await request("PATCH", "stack-instances", { deployment_targets: all });
  await ends(strict["stack_set_operation_id"]);
  expect(await statuses()).toEqual({ bad: "OPERATION_FAILED", web: "CANCEL_COMPLETE" });
  const tolerant = await request("PATCH", "stack-instances", {
    deployment_targets: all,
    operation_preferences: { failure_tolerance_count: 1, max_concurrent_count: 2 },
  });
  expect(await ends(tolerant["stack_set_operation_id"])).toMatchObject({
    status: "OPERATION_COMPLETE",
    operation_preferences: { failure_tolerance_count: 1, max_concurrent_count: 2 },
  });
  expect(await statuses()).toEqual({ bad: "OPERATION_FAILED", web: "OPERATION_COMPLETE" });
}, 120_000);

it("refuses what does not fit, and what this server has nothing for", async () => {
  const { create, request, inProjects, get } = await start("none");
  const refused = async (promise: Promise<unknown>, status: number, code: string) =>
    expect(promise).rejects.toMatchObject({ httpStatusCode: status, errorCode: code });
  await refused(create({ permission_model: "SERVICE_MANAGED" }), 400, "RF.10905005");
  await refused(create({ call_identity: "DELEGATED_ADMIN" }), 400, "RF.10905005");
  await refused(
    create({ administration_agency_name: "a", administration_agency_urn: "b" }),
    400,
    "RF.10011028",
  );
  await create({ administration_agency_name: "admins", managed_agency_name: "members" });
  expect(await get("metadata")).toMatchObject({ administration_agency_name: "admins" });
  const instances = (data: Record<string, unknown>) => request("POST", "stack-instances", data);
  const at = (targets: Record<string, unknown>) => ({ deployment_targets: targets });
  await refused(instances({}), 400, "RF.10011001");
  await refused(instances(at({ regions: ["r"] })), 400, "RF.10011001");
  await refused(instances(at({ regions: [], domain_ids: ["web"] })), 400, "RF.10011001");
  await refused(instances(at({ regions: ["r"], domain_ids: ["web", "web"] })), 400, "RF.10011028");
  await refused(instances(at({ regions: ["../x"], domain_ids: ["web"] })), 400, "RF.10900102");
  await refused(
    instances(at({ regions: ["r"], organizational_unit_ids: ["ou"] })),
    400,
    "RF.10905005",
  );
  await refused(
    instances({ ...inProjects("web"), var_overrides: { use_stack_set_vars: ["other"] } }),
    400,
    "RF.10011028",
  );
  await instances(inProjects("web"));
  await refused(
    instances({ ...inProjects("net"), stack_set_id: randomUUID() }),
    400,
    "RF.10905014",
  );
  // The operation of the request before waits for an executor that the server has not.
  await refused(instances(inProjects("net")), 403, "RF.10905016");
  await refused(request("PATCH", "stack-instances", inProjects("nowhere")), 400, "RF.10905015");
  await refused(
    request("POST", "deployments", {
      template_body: TEMPLATE,
      operation_preferences: { failure_tolerance_count: 1, failure_tolerance_percentage: 1 },
    }),
    400,
    "RF.10011028",
  );
  await refused(get("operations/none/metadata"), 404, "RF.10905020");
  await refused(get("stack-instances/r/nowhere"), 404, "RF.10905019");
}, 60_000);

it("is hidden from other accounts, and closed to those who may not do it in a project", async () => {
  const { server, call, first, create, request, inProjects } = await start("none");
  await create();
  await request("POST", "stack-instances", inProjects("web"));
  const tokens = server.credentials;
  const tokenOf = async (given: Parameters<typeof tokens.createToken>[0]) =>
    (await tokens.createToken(given)).token;
  const send = async (
    token: string,
    method: string,
    path: string,
    body?: Readonly<Record<string, unknown>>,
  ) => {
    const headers = { "client-request-id": randomUUID(), "x-auth-token": token };
    return call(method, `${SETS}${path}`, { token: "", headers, ...(body && { body }) });
  };
  const account = "default";
  const other = await tokenOf({ account: "other", roles: ["admin"] });
  expect((await send(other, "GET", "")).json).toMatchObject({ stack_sets: [] });
  expect((await send(other, "GET", "/shops/metadata")).status).toBe(404);
  expect((await send(other, "DELETE", "/shops")).status).toBe(404);
  const ofProject = await tokenOf({ account, roles: ["admin"], projects: ["web"] });
  expect((await send(ofProject, "GET", "")).status).toBe(403);
  expect((await send(ofProject, "POST", "/shops/stack-instances", inProjects("web"))).status).toBe(
    403,
  );
  const reader = await tokenOf({ account, roles: ["reader"] });
  expect((await send(reader, "GET", "/shops/metadata")).status).toBe(200);
  const calls: readonly [string, string, Record<string, unknown>][] = [
    ["POST", "", { stack_set_name: "more", template_body: TEMPLATE }],
    ["PATCH", "/shops", { stack_set_description: "x" }],
    ["DELETE", "/shops", {}],
    ["POST", "/shops/deployments", { template_body: TEMPLATE, vars_body: 'word = "x"' }],
    ["POST", "/shops/stack-instances", inProjects("net")],
    ["PATCH", "/shops/stack-instances", inProjects("web")],
    ["POST", "/shops/stack-instances/deletion", inProjects("web")],
    ["DELETE", "/shops/stack-instances", inProjects("web")],
  ];
  for (const [method, path, body] of calls) {
    const { status } = await send(
      reader,
      method,
      path,
      method === "DELETE" && path === "/shops" ? undefined : body,
    );
    expect([method, path, status]).toEqual([method, path, 403]);
  }
  const deployer = await tokenOf({ account, roles: ["deployer"] });
  expect((await send(deployer, "POST", "/shops/stack-instances", inProjects("net"))).status).toBe(
    403,
  );
  // The link to a template is good for that set alone, not for another one of its name.
  const link = await fetch(`${server.url}${SETS}/shops/templates`, {
    redirect: "manual",
    headers: { "client-request-id": randomUUID(), "x-auth-token": first.token },
  });
  const location = link.headers.get("location") ?? "";
  expect((await fetch(location)).status).toBe(200);
  // Not the last character: some of its bits are no bits of the signature.
  const changed = `${location.slice(0, -2)}${location.at(-2) === "A" ? "B" : "A"}${location.at(-1)}`;
  expect((await fetch(changed)).status).toBe(403);
}, 60_000);

it("begins one of two operations that come at once, or lets the later one wait", async () => {
  const { create, request, inProjects, get, ends, statuses, remove, send, pathParams } =
    await start();
  await create();
  const both = await Promise.allSettled([
    request("POST", "stack-instances", inProjects("web")),
    request("POST", "stack-instances", inProjects("web", "net")),
  ]);
  const begun = both.filter(({ status }) => status === "fulfilled");
  expect(begun).toHaveLength(1);
  const { stack_set_operations: operations } = await get("operations");
  expect(operations).toHaveLength(1);
  await ends((operations as { operation_id: string }[])[0]?.operation_id);
  await send({
    method: "PATCH",
    url: SET,
    pathParams,
    data: { managed_operation: { enable_parallel_operation: true } },
  });
  // The instance is deleted under the feet of the second one, which waits for the first.
  const deletion = await request("POST", "stack-instances/deletion", inProjects("web"));
  const update = await request("PATCH", "stack-instances", inProjects("web"));
  expect(await ends(deletion["stack_set_operation_id"])).toMatchObject({
    status: "OPERATION_COMPLETE",
  });
  expect(await ends(update["stack_set_operation_id"])).toMatchObject({
    status: "OPERATION_FAILED",
  });
  expect(Object.keys(await statuses())).not.toContain("web");
  const left = Object.keys(await statuses());
  if (left.length > 0) {
    const rest = await request("POST", "stack-instances/deletion", inProjects(...left));
    await ends(rest["stack_set_operation_id"]);
  }
  expect(await remove()).toMatchObject({ httpStatusCode: 204 });
}, 120_000);

it("has its operations resumed by the next server, which requests no second run", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "stack-sets-"));
  onTestFinished(() => rm(scratch, { recursive: true, force: true }));
  const store = `sqlite:${join(scratch, "store")}`;
  const { server, directory, create, request, inProjects, statuses } = await start("none", store);
  await create();
  await request("POST", "stack-instances", inProjects("web", "net"));
  await expect
    .poll(statuses, POLL)
    .toEqual({ web: "OPERATION_IN_PROGRESS", net: "WAIT_IN_PROGRESS" });
  await server.close();
  const next = await serve(
    { store, port: 0, logLevel: "silent", executor: "in-process" },
    { directory, env: {} },
  );
  onTestFinished(() => next.close());
  const { token } = await next.credentials.createToken({ account: "default", roles: ["admin"] });
  const get = async (path: string) => {
    const headers = { "client-request-id": randomUUID(), "x-auth-token": token };
    return (await fetch(next.url + path, { headers })).json() as Promise<Record<string, unknown>>;
  };
  await vi.waitFor(
    async () =>
      expect((await get(`${SETS}/shops/operations`))["stack_set_operations"]).toMatchObject([
        { status: "OPERATION_COMPLETE" },
      ]),
    POLL,
  );
  const { stacks } = await get("/v1/web/stacks");
  expect(stacks).toMatchObject([{ status: "DEPLOYMENT_COMPLETE" }]);
  const name = (stacks as { stack_name: string }[])[0]?.stack_name ?? "";
  const headers = { authorization: `Bearer ${token}` };
  const runs = await fetch(`${next.url}/api/v1/projects/web/stacks/${name}/runs`, { headers });
  expect(((await runs.json()) as { runs: unknown[] }).runs).toHaveLength(1);
}, 120_000);

it("leaves a stack alone that it did not make, and deploys its own once the name is free", async () => {
  const { send, get, create, request, inProjects, ends, statuses, outputOf } = await start();
  const { stack_set_id: id } = await create();
  const name = `stackset-shops-${String(id).slice(-10).toLowerCase()}-cn-north-4`;
  const ofUser = async (project: string, method: string, data?: Record<string, unknown>) =>
    send({
      method,
      url: method === "POST" ? "/v1/{project_id}/stacks" : STACK,
      pathParams: { project_id: project, stack_name: name },
      ...(data && { data }),
    });
  await ofUser("web", "POST", { stack_name: name, description: "of a user" });
  // In the project net both are made at once: one of them has the name.
  const [made, begun] = await Promise.allSettled([
    ofUser("net", "POST", { stack_name: name }),
    request("POST", "stack-instances", {
      ...inProjects("web", "net"),
      operation_preferences: { failure_tolerance_count: 2, max_concurrent_count: 2 },
    }),
  ]);
  if (begun.status === "rejected") throw begun.reason;
  await ends(begun.value["stack_set_operation_id"]);
  const isOfUser = made.status === "fulfilled";
  expect(await statuses()).toEqual({
    web: "OPERATION_FAILED",
    net: isOfUser ? "OPERATION_FAILED" : "OPERATION_COMPLETE",
  });
  expect(await get("stack-instances/cn-north-4/web")).toMatchObject({
    status_message: expect.stringContaining("did not make") as string,
  });
  const shown = { method: "GET", url: `${STACK}/metadata`, pathParams: { stack_name: name } };
  expect(await send(shown)).toMatchObject({
    status: "CREATION_COMPLETE",
    description: "of a user",
  });
  await ofUser("web", "DELETE");
  const updated = await request("PATCH", "stack-instances", inProjects("web"));
  await ends(updated["stack_set_operation_id"]);
  expect(await statuses()).toMatchObject({ web: "OPERATION_COMPLETE" });
  expect(await outputOf("web")).toBe("one");
}, 120_000);

it("has as many sets as an account may have, however many are made at once", async () => {
  const { create } = await start("none");
  const numbered = async (from: number, count: number) =>
    Promise.allSettled(
      Array.from({ length: count }, async (_, at) => create({ stack_set_name: `s${from + at}` })),
    );
  for (let at = 0; at < 96; at += 8) await numbered(at, 8);
  const last = await numbered(96, 8);
  const refused = last.filter((one) => one.status === "rejected").map(({ reason }) => reason);
  expect(refused).toHaveLength(4);
  expect(refused).toEqual(
    refused.map(
      () => expect.objectContaining({ httpStatusCode: 403, errorCode: "RF.10905009" }) as object,
    ),
  );
}, 60_000);

it("refuses values that its record has no room for, and keeps what there was", async () => {
  const { create, request, get } = await start("none");
  const word = (letter: string) => `word = "${letter.repeat(51_000)}"`;
  await create({
    vars_body: word("a"),
    managed_operation: { enable_parallel_operation: true },
  });
  const add = async (number: number) =>
    request("POST", "stack-instances", {
      deployment_targets: { regions: ["r"], domain_ids: [`p${number}`] },
      var_overrides: { vars_body: word(String(number)) },
    });
  for (let number = 0; number < 9; number += 1) await add(number);
  await expect(add(9)).rejects.toMatchObject({
    httpStatusCode: 403,
    errorMsg: expect.stringContaining("may have 524288") as string,
  });
  expect((await get("stack-instances"))["stack_instances"]).toHaveLength(9);
  // What adds no values is not refused.
  const more = { regions: ["r"], domain_ids: ["p9"] };
  await request("POST", "stack-instances", { deployment_targets: more });
}, 60_000);
