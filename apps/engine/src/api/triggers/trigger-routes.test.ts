import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

const PROJECTS = "/api/v1/projects";

async function start(...names: readonly string[]) {
  const api = await startApi("none");
  const { call } = api;
  for (const name of names) {
    const [project = "", stack = ""] = name.split("/");
    const made = await call("POST", `${PROJECTS}/${project}/stacks`, { body: { name: stack } });
    expect(made.status).toBe(201);
  }
  const at = (name: string): string => `${PROJECTS}/${name.replace("/", "/stacks/")}/triggers`;
  /** Makes runs of one stack follow another. */
  const create = async (consumer: string, producer: string, token?: string) => {
    const [project, stack] = producer.split("/");
    const body = { producer: { project, stack }, mode: "apply" };
    return call("POST", at(consumer), { body, token });
  };
  return { ...api, at, create };
}

it("a trigger is created, shown, changed, paused and deleted", async () => {
  const { call, at } = await start("web/site", "web/network");
  const body = { producer: { stack: "network" }, mode: "plan_only", message: "moved" };
  const made = await call("POST", at("web/site"), { body });
  expect(made).toMatchObject({
    status: 201,
    json: {
      producer: { project: "web", stack: "network" },
      mode: "plan_only",
      message: "moved",
      paused: false,
      revision: 0,
    },
  });
  const path = `${at("web/site")}/${String(made.json["id"])}`;
  expect(made.headers.get("location")).toBe(path);
  const shown = await call("GET", path);
  expect(shown.json).toEqual(made.json);
  expect((await call("GET", at("web/site"))).json).toEqual({ triggers: [made.json] });
  expect((await call("GET", at("web/network"))).json).toEqual({ triggers: [] });

  const headers = { "if-match": shown.headers.get("etag") ?? "" };
  expect((await call("PATCH", path, { body: { paused: true } })).status).toBe(428);
  const paused = await call("PATCH", path, { body: { paused: true }, headers });
  expect(paused).toMatchObject({ status: 200, json: { paused: true, message: "moved" } });
  expect((await call("PATCH", path, { body: { paused: false }, headers })).status).toBe(412);
  const any = { "if-match": "*" };
  expect((await call("DELETE", path, { headers: any })).status).toBe(204);
  expect((await call("GET", path)).json["code"]).toBe("not_found");
});

it("the stack that is followed has to be one that the caller may see", async () => {
  const { server, create } = await start("web/site", "web/network");
  const given = { account: "default", roles: ["deployer"] as const, projects: ["web"] };
  const made = async (stacks: readonly string[]) =>
    (await server.credentials.createToken({ ...given, stacks })).token;
  expect((await create("web/site", "web/network", await made(["web/site"]))).status).toBe(404);
  const both = await made(["web/site", "web/network"]);
  expect((await create("web/site", "web/network", both)).status).toBe(201);
});

it("a cycle is refused with its path, over several projects as well", async () => {
  const { create } = await start("web/a", "base/b", "web/c");
  expect((await create("base/b", "web/a")).status).toBe(201);
  expect((await create("web/c", "base/b")).status).toBe(201);
  const refused = await create("web/a", "web/c");
  expect(refused).toMatchObject({ status: 422, json: { code: "unprocessable" } });
  expect(refused.json["detail"]).toContain("web/a -> base/b -> web/c -> web/a");
  expect((await create("web/a", "web/a")).json["detail"]).toContain("web/a -> web/a");
  expect((await create("web/c", "web/a")).status).toBe(201);
});

it("the path of a cycle names no stack that the caller does not see", async () => {
  const { create, tokenOf } = await start("web/a", "merger/b", "web/c");
  expect((await create("merger/b", "web/a")).status).toBe(201);
  expect((await create("web/c", "merger/b")).status).toBe(201);
  const refused = await create("web/a", "web/c", await tokenOf("deployer", ["web"]));
  expect(refused.status).toBe(422);
  expect(refused.text).not.toContain("merger");
  expect(refused.json["detail"]).toContain("web/a -> a stack that you do not see -> web/c");
});

it("of triggers that close a cycle together and are created at once, one is refused", async () => {
  const names = ["web/a", "web/b", "web/c", "web/d"];
  const { create } = await start(...names);
  const made = await Promise.all(
    names.map(async (name, index) => create(name, names[(index + 1) % names.length] ?? "")),
  );
  expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 201, 422]);
});

it("two stacks have one trigger, also when it is created twice at once", async () => {
  const { create } = await start("web/a", "web/b");
  const made = await Promise.all([create("web/a", "web/b"), create("web/a", "web/b")]);
  expect(made.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
});

it("a stack has twenty at most, also when they are created at once", async () => {
  const producers = Array.from({ length: 22 }, (_, index) => `base/p${index}`);
  const { create } = await start("web/a", ...producers);
  const made = await Promise.all(producers.map(async (one) => create("web/a", one)));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(made.filter(({ status }) => status === 422)).toHaveLength(2);
});

it("a project that applies no plan without an approval takes no trigger that does, and lets none continue", async () => {
  const { call, at } = await start("web/site", "web/network");
  const headers = { "if-match": "*" };
  const body = { producer: { stack: "network" }, mode: "apply", auto_apply: true };
  const made = await call("POST", at("web/site"), { body });
  expect(made.status).toBe(201);
  const path = `${at("web/site")}/${String(made.json["id"])}`;
  const change = async (change: object) => call("PATCH", path, { body: change, headers });
  await call("POST", PROJECTS, { body: { name: "web", auto_apply: "never" } });
  expect((await change({ paused: true })).status).toBe(200);
  const detail = "plans of the project web are applied after an approval only;";
  expect(await change({ paused: false })).toMatchObject({
    status: 422,
    json: { code: "unprocessable", detail: `${detail} create another trigger without auto_apply` },
  });
  expect((await call("DELETE", path, { headers })).status).toBe(204);
  expect(await call("POST", at("web/site"), { body })).toMatchObject({
    status: 422,
    json: { code: "unprocessable", detail: `${detail} create the trigger without auto_apply` },
  });
});

it("readers see triggers and write none, and a project that is closed to a caller is not found", async () => {
  const { call, at, create, tokenOf } = await start("web/a", "base/b");
  const viewer = await tokenOf("reader");
  expect((await create("web/a", "base/b", viewer)).json["code"]).toBe("forbidden");
  expect((await call("GET", at("web/a"), { token: viewer })).status).toBe(200);
  const ofWeb = await tokenOf("deployer", ["web"]);
  expect((await create("web/a", "base/b", ofWeb)).json["code"]).toBe("not_found");
  expect((await create("web/a", "web/nothing", ofWeb)).json["code"]).toBe("not_found");
});

it("an apply that changes outputs makes a run of the stack that follows them", {
  timeout: 120_000,
}, async () => {
  const { call } = await startApi();
  const stacks = `${PROJECTS}/web/stacks`;
  const phaseOf = async (stack: string, run: unknown) =>
    (await call("GET", `${stacks}/${stack}/runs/${String(run)}`)).json["phase"];
  const apply = async (stack: string, text: string) => {
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const { digest } = (await call("POST", `${stacks}/${stack}/configurations`, { body: archive }))
      .json;
    const body = { configuration: digest, auto_apply: true };
    const { id } = (await call("POST", `${stacks}/${stack}/runs`, { body })).json;
    await expect.poll(async () => phaseOf(stack, id), { timeout: 30_000 }).toBe("applied");
    return digest;
  };
  const network = (cidr: string, input: string) =>
    `output "cidr" { value = "${cidr}" }\nresource "terraform_data" "a" { input = "${input}" }`;
  for (const name of ["network", "site"]) await call("POST", stacks, { body: { name } });
  await apply("network", network("10.0.0.0/16", "x"));
  const configuration = await apply("site", 'resource "terraform_data" "a" { input = "x" }');
  const body = { producer: { stack: "network" }, mode: "apply", auto_apply: true };
  const made = await call("POST", `${stacks}/site/triggers`, { body });
  const path = `${stacks}/site/triggers/${String(made.json["id"])}`;

  // Not this one: it changes no output.
  await apply("network", network("10.0.0.0/16", "y"));
  await apply("network", network("10.1.0.0/16", "y"));
  const lastRun = async () => (await call("GET", path)).json["last_run"];
  await expect.poll(lastRun, { timeout: 40_000, interval: 200 }).toBeTypeOf("string");
  const run = await lastRun();
  await expect.poll(async () => phaseOf("site", run), { timeout: 30_000 }).toBe("no_changes");
  const shown = (await call("GET", path)).json;
  expect((await call("GET", `${stacks}/site/runs/${String(run)}`)).json).toMatchObject({
    configuration,
    cause: `trigger:web/network@${String(shown["revision"])}`,
    actor: made.json["actor"],
  });
  const { runs } = (await call("GET", `${stacks}/site/runs`)).json;
  expect(runs).toHaveLength(2);
});
