import { expect, it } from "vitest";
import { startVariables } from "../testing/start-variables.ts";

const OWN = "/api/v1/projects/default/stacks/demo";

async function start() {
  const api = await startVariables();
  const id = await api.workspace("demo");
  const at = `workspaces/${id}/vars`;
  const add = async (attributes: object, token?: string) =>
    api.send("POST", at, attributes, token === undefined ? {} : { token });
  return { ...api, id, at, add };
}

it("a variable is added, shown, changed and deleted, and is one of the stack", async () => {
  const { add, at, id, send, call } = await start();
  const made = await add({ key: "who", value: "ann", category: "terraform", description: "first" });
  expect([made.status, made.one]).toEqual([
    201,
    {
      id: expect.stringMatching(/^var-[a-zA-Z0-9]{16}$/) as string,
      type: "vars",
      attributes: {
        key: "who",
        value: "ann",
        category: "terraform",
        hcl: false,
        sensitive: false,
        description: "first",
      },
      relationships: { configurable: { data: { id, type: "workspaces" } } },
    },
  ]);
  const one = `${at}/${made.one.id}`;
  expect((await call("GET", `${OWN}/variables/terraform/who`)).json).toMatchObject({
    value: "ann",
    description: "first",
  });
  const changed = await send("PATCH", one, { key: "who", value: "ben", hcl: false });
  expect([changed.status, changed.one.id]).toEqual([200, made.one.id]);
  expect((await send("GET", one)).one.attributes).toMatchObject({
    value: "ben",
    description: "first",
  });
  expect((await send("GET", at)).json["meta"]).toMatchObject({ pagination: { "total-count": 1 } });
  expect((await send("DELETE", one)).status).toBe(204);
  expect((await send("DELETE", one)).status).toBe(404);
  expect((await call("GET", `${OWN}/variables`)).json["variables"]).toEqual([]);
});

it("a variable that was set elsewhere has an id, and is changed", async () => {
  const { at, send, call } = await start();
  const path = `${OWN}/variables/env/REGION`;
  await call("PUT", path, { body: { value: "north", description: "d" } });
  const [found] = (await send("GET", at)).many;
  expect(found?.attributes).toMatchObject({ key: "REGION", value: "north", category: "env" });
  const changed = await send("PATCH", `${at}/${found?.id}`, { value: "south" });
  expect(changed.status).toBe(200);
  expect((await call("GET", path)).json).toMatchObject({ value: "south", description: "d" });
});

it("a key is taken once in each category, also of two requests at once", async () => {
  const { add } = await start();
  const category = "terraform";
  const both = await Promise.all([1, 2].map(async () => add({ key: "a", value: "1", category })));
  expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 422]));
  expect(both.find(({ status }) => status === 422)?.detail).toBe("Key has already been taken");
  expect((await add({ key: "a", value: "1", category: "env" })).status).toBe(201);
});

it("a sensitive value is never shown, stays without another one, and remains sensitive", async () => {
  const { add, at, id, send, call } = await start();
  const made = await add({ key: "T", value: "canary-1", category: "env", sensitive: true });
  const one = `${at}/${made.one.id}`;
  const changed = await send("PATCH", one, { key: "T", description: "more", sensitive: true });
  expect(changed.one.attributes).toMatchObject({ description: "more", value: null });
  const refused = await send("PATCH", one, { sensitive: false, value: "x" });
  expect([refused.status, refused.detail]).toEqual([422, expect.stringContaining('"sensitive"')]);
  const shown = await Promise.all([
    send("GET", one),
    send("GET", at),
    send("GET", `workspaces/${id}/all-vars`),
    call("GET", `${OWN}/variables/env/T`),
    call("GET", "/api/v1/audit"),
  ]);
  const texts = [made, changed, refused, ...shown].map(({ text }) => text);
  expect(texts.filter((text) => text.includes("canary"))).toEqual([]);
  const plain = await add({ key: "p", value: "canary-2", category: "terraform" });
  const sealed = await send("PATCH", `${at}/${plain.one.id}`, { sensitive: true });
  expect([sealed.status, sealed.text.includes("canary")]).toEqual([200, false]);
});

it("values of runs are those of here: what stays sealed is opened, what becomes sensitive is sealed", {
  timeout: 60_000,
}, async () => {
  const { workspace, send, call, upload } = await startVariables("in-process");
  const stack = "/api/v1/projects/web/stacks/one";
  const id = await workspace("one", "web");
  const add = async (attributes: object) => {
    const { one } = await send("POST", `workspaces/${id}/vars`, attributes);
    return `workspaces/${id}/vars/${one.id}`;
  };
  const kept = await add({
    key: "kept",
    value: "secret-1",
    category: "terraform",
    sensitive: true,
  });
  await send("PATCH", kept, { description: "the value stays" });
  const sealed = await add({ key: "sealed", value: "secret-2", category: "terraform" });
  await send("PATCH", sealed, { sensitive: true });
  await add({ key: "plain", value: "shown", category: "terraform" });
  const { digest } = (
    await upload({
      "main.tf": `variable "kept" {}
variable "sealed" {}
variable "plain" {}
resource "terraform_data" "x" {
  input = { plain = var.plain, known = nonsensitive(var.kept == "secret-1" && var.sealed == "secret-2") }
}
`,
    })
  ).json;
  const made = await call("POST", `${stack}/runs`, { body: { configuration: digest } });
  const run = `${stack}/runs/${String(made.json["id"])}`;
  await expect
    .poll(async () => (await call("GET", run)).json["phase"], { timeout: 20_000 })
    .toBe("awaiting_approval");
  const plan = (await call("GET", `${run}/plan`)).text;
  expect(plan).toMatch(/"plain":\s*"shown"/);
  expect(plan).toMatch(/"known":\s*true/);
  expect(plan).not.toContain("secret-");
});

it("what the server cannot do is refused with its attribute", async () => {
  const { add, at, send } = await start();
  const valid = { key: "a", value: "1", category: "terraform" };
  const made = await add(valid);
  const one = `${at}/${made.one.id}`;
  const refusals: readonly (readonly [method: string, attributes: object, name: string])[] = [
    ["POST", { ...valid, hcl: true }, "hcl"],
    ["POST", { ...valid, category: "policy-set" }, "category"],
    ["POST", { ...valid, category: 1 }, "category"],
    ["POST", { value: "1", category: "env" }, "key"],
    ["POST", { ...valid, key: "" }, "key"],
    ["POST", { ...valid, key: "1a" }, "key"],
    ["POST", { ...valid, key: "a b" }, "key"],
    ["POST", { ...valid, key: "ключ" }, "key"],
    ["POST", { ...valid, key: "a\u0000" }, "key"],
    ["POST", { ...valid, key: "a".repeat(129) }, "key"],
    ["POST", { ...valid, key: ["b"] }, "key"],
    ["POST", { ...valid, key: "b", value: "x".repeat(65_537) }, "value"],
    ["POST", { ...valid, key: "b", value: 7 }, "value"],
    ["POST", { ...valid, key: "b", value: "\ud800" }, "value"],
    ["POST", { ...valid, key: "B", category: "env", value: "a\u0000b" }, "B"],
    ["POST", { ...valid, key: "b", sensitive: "yes" }, "sensitive"],
    ["POST", { ...valid, key: "b", description: "d".repeat(1_025) }, "description"],
    ["PATCH", { key: "other" }, "key"],
    ["PATCH", { category: "env" }, "category"],
    ["PATCH", { hcl: true }, "hcl"],
    ["PATCH", { value: {} }, "value"],
  ];
  for (const [method, attributes, name] of refusals) {
    const { status, detail } = await send(method, method === "POST" ? at : one, attributes);
    expect([attributes, status, detail]).toEqual([
      attributes,
      422,
      expect.stringContaining(`"${name}"`),
    ]);
  }
  expect((await send("GET", at)).many.map(({ attributes }) => attributes["value"])).toEqual(["1"]);
});

it("all-vars has what runs have, each with the set that it is from; vars has these for commands alone", async () => {
  const { add, at, id, send, set, call, first } = await start();
  await add({ key: "a", value: "own", category: "terraform" });
  const shared = await set({ name: "shared", global: true });
  const vars = `varsets/${shared.id}/relationships/vars`;
  await send("POST", vars, { key: "a", value: "set", category: "terraform" });
  await send("POST", vars, { key: "b", value: "set", category: "terraform" });
  const valuesOf = (many: Awaited<ReturnType<typeof send>>["many"]) =>
    many.map(({ attributes: { key, value } }) => [key, value]);
  expect(valuesOf((await send("GET", at)).many)).toEqual([["a", "own"]]);
  const all = await send("GET", `workspaces/${id}/all-vars`);
  expect(valuesOf(all.many)).toEqual([
    ["a", "own"],
    ["b", "set"],
  ]);
  expect(all.many[1]?.relationships["varset"]?.data).toMatchObject({ id: shared.id });
  const headers = { "terraform-version": "1.11.4" };
  const { json } = await call("GET", `/api/v2/${at}`, { token: first.token, headers });
  expect((json["data"] as object[]).length).toBe(2);
});

it("variables are read by readers, and written by deployers that see the workspace", async () => {
  const { add, at, send, tokenOf } = await start();
  const made = await add({ key: "a", value: "1", category: "terraform" });
  const one = `${at}/${made.one.id}`;
  const statuses = async (token: string) => {
    const tried = [
      await send("GET", at, undefined, { token }),
      await send("GET", one, undefined, { token }),
      await send("POST", at, { key: "b", value: "1", category: "env" }, { token }),
      await send("PATCH", one, { value: "2" }, { token }),
      await send("DELETE", one, undefined, { token }),
    ];
    return tried.map(({ status }) => status);
  };
  expect(await statuses("")).toEqual([401, 401, 401, 401, 401]);
  expect(await statuses(await tokenOf("reader"))).toEqual([200, 200, 403, 403, 403]);
  expect(await statuses(await tokenOf("planner"))).toEqual([200, 200, 403, 403, 403]);
  expect(await statuses(await tokenOf("admin", ["web"]))).toEqual([404, 404, 404, 404, 404]);
  expect(await statuses(await tokenOf("deployer", ["default"]))).toEqual([200, 200, 201, 200, 204]);
});

it("an id of another workspace's variable is none", async () => {
  const { add, send, workspace } = await start();
  const made = await add({ key: "a", value: "1", category: "terraform" });
  const other = await workspace("other");
  await send("POST", `workspaces/${other}/vars`, { key: "a", value: "2", category: "terraform" });
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const path = `workspaces/${other}/vars/${made.one.id}`;
    expect((await send(method, path, method === "PATCH" ? {} : undefined)).status).toBe(404);
  }
});

it("changes at once lose none: an update beside a deletion ends with either", async () => {
  const { add, at, send } = await start();
  const made = await add({ key: "a", value: "0", category: "terraform" });
  const one = `${at}/${made.one.id}`;
  const values = Array.from({ length: 8 }, (_, index) => String(index + 1));
  const all = await Promise.all(values.map(async (value) => send("PATCH", one, { value })));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
  const both = [send("PATCH", one, { value: "9" }), send("DELETE", one)];
  const [updated, deleted] = await Promise.all(both);
  expect(deleted?.status).toBe(204);
  expect([200, 404]).toContain(updated?.status);
  expect((await send("GET", at)).many).toEqual([]);
});

it("changes are in the audit trail, as those of the server's own routes", async () => {
  const { add, at, send, call } = await start();
  const made = await add({ key: "T", value: "x", category: "env", sensitive: true });
  await send("PATCH", `${at}/${made.one.id}`, { value: "y" });
  await send("DELETE", `${at}/${made.one.id}`);
  const { json } = await call("GET", "/api/v1/audit");
  const entries = json["entries"] as { readonly action: string; readonly target: string }[];
  const target = "projects/default/stacks/demo/variables/env/T";
  expect(
    entries
      .filter((entry) => entry.target === target)
      .map(({ action }) => action)
      .toSorted(),
  ).toEqual(["DeleteVariable", "SetVariable", "SetVariable"]);
});

it("commands get all variables at once, and those who ask for pages get pages", async () => {
  const { workspace, send, call } = await startVariables();
  const id = await workspace("shop", "web");
  for (let index = 0; index < 25; index += 1) {
    const key = `k${String(index).padStart(2, "0")}`;
    await send("POST", `workspaces/${id}/vars`, { key, value: "x", category: "terraform" });
  }
  const path = `/api/v2/workspaces/${id}`;
  const command = { headers: { "terraform-version": "1.11.4" } };
  for (const answer of [
    await call("GET", `${path}/vars`, command),
    await call("GET", `${path}/all-vars`, command),
    await call("GET", `${path}/all-vars`),
  ]) {
    expect(answer.json["data"]).toHaveLength(25);
    expect(answer.json["meta"]).toMatchObject({ pagination: { "total-pages": 1 } });
  }
  const second = await call("GET", `${path}/all-vars?page%5Bsize%5D=10&page%5Bnumber%5D=3`);
  expect(second.json["data"]).toHaveLength(5);
});
