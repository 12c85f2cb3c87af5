import { expect, it } from "vitest";
import { startVariables } from "../testing/start-variables.ts";

const SETS = "organizations/default/varsets";
const OWN = "/api/v1/variable-sets";
const ANY = { headers: { "if-match": "*" } };

const ids = (...given: readonly string[]) => ({
  data: given.map((id) => ({ id, type: id.startsWith("ws-") ? "workspaces" : "projects" })),
});

it("a set is for none until it is attached, and is one of the account", async () => {
  const { workspace, set, send, attached, call } = await startVariables();
  const [shop, site] = [await workspace("shop", "web"), await workspace("site", "web")];
  const net = await workspace("vpc", "net");
  const made = await set({ name: "shared", description: "d" });
  expect(made).toMatchObject({
    id: expect.stringMatching(/^varset-[a-zA-Z0-9]{16}$/) as string,
    type: "varsets",
    attributes: { name: "shared", description: "d", global: false, priority: false },
    relationships: { organization: { data: { id: "default" } }, workspaces: { data: [] } },
  });
  const names = async (path: string) =>
    (await send("GET", path)).many.map(({ attributes }) => attributes["name"]);
  expect(await names(`workspaces/${shop}/varsets`)).toEqual([]);
  const at = `varsets/${made.id}/relationships`;
  expect((await send("POST", `${at}/workspaces`, undefined, ids(shop))).status).toBe(204);
  expect((await send("POST", `${at}/projects`, undefined, ids("prj-net"))).status).toBe(204);
  expect((await send("POST", `${at}/workspaces`, undefined, ids(shop, shop))).status).toBe(204);
  expect(await attached(made.id, "workspaces")).toEqual([shop]);
  expect(await attached(made.id, "projects")).toEqual(["prj-net"]);
  expect((await call("GET", `${OWN}/shared`)).json).toMatchObject({
    projects: [],
    stacks: ["web/shop", "net/*"],
  });
  expect(await names(`workspaces/${shop}/varsets`)).toEqual(["shared"]);
  expect(await names(`workspaces/${net}/varsets`)).toEqual(["shared"]);
  expect(await names(`workspaces/${site}/varsets`)).toEqual([]);
  expect(await names("projects/prj-net/varsets")).toEqual(["shared"]);
  expect(await names("projects/prj-web/varsets")).toEqual([]);
  expect((await send("DELETE", `${at}/projects`, undefined, ids("prj-net"))).status).toBe(204);
  expect((await send("DELETE", `${at}/workspaces`, undefined, ids(shop, site))).status).toBe(204);
  // What is left is nothing, never all.
  expect((await call("GET", `${OWN}/shared`)).json["stacks"]).toEqual(["/"]);
  expect(await names(`workspaces/${shop}/varsets`)).toEqual([]);
  expect((await send("DELETE", `varsets/${made.id}`)).status).toBe(204);
  expect((await send("GET", `varsets/${made.id}`)).status).toBe(404);
});

it("runs have the variables of what is attached to their workspace, unless it has others", async () => {
  const { workspace, set, send, call } = await startVariables();
  const shop = await workspace("shop", "web");
  const one = await set({ name: "one" }, { workspaces: ids(shop) });
  const strong = await set({ name: "strong", priority: true }, { projects: ids("prj-web") });
  const other = await set({ name: "other" });
  for (const [{ id }, value] of [
    [one, "one"],
    [strong, "strong"],
    [other, "other"],
  ] as const) {
    const vars = `varsets/${id}/relationships/vars`;
    for (const key of value === "one" ? ["a", "b"] : ["b"]) {
      await send("POST", vars, { key, value, category: "terraform" });
    }
  }
  await send("POST", `workspaces/${shop}/vars`, { key: "b", value: "own", category: "terraform" });
  const found = await call("GET", "/api/v1/projects/web/stacks/shop/effective-variables");
  expect(found.json["variables"]).toMatchObject([
    { key: "a", value: "one", set: "one" },
    { key: "b", value: "strong", set: "strong", hides: [{ origin: "stack" }, { set: "one" }] },
  ]);
});

it("variables of a set are added, changed and deleted, and sensitive ones never shown", async () => {
  const { set, send, call } = await startVariables();
  const { id } = await set({ name: "shared", global: true });
  const vars = `varsets/${id}/relationships/vars`;
  const made = await send("POST", vars, {
    key: "T",
    value: "canary",
    category: "env",
    sensitive: true,
    description: "d",
  });
  expect([made.status, made.one.id]).toEqual([201, expect.stringMatching(/^var-\w{16}$/)]);
  expect(made.one.relationships["varset"]).toEqual({ data: { id, type: "varsets" } });
  const one = `${vars}/${made.one.id}`;
  expect((await send("POST", vars, { key: "T", category: "env" })).status).toBe(422);
  expect((await send("PATCH", one, { sensitive: false })).status).toBe(422);
  const kept = await send("PATCH", one, { description: "other" });
  expect(kept.one.attributes).toMatchObject({ value: null, description: "other" });
  const texts = [made, kept, await send("GET", vars), await send("GET", one)];
  expect(texts.filter(({ text }) => text.includes("canary"))).toEqual([]);
  expect((await call("GET", `${OWN}/shared`)).json["variables"]).toMatchObject([
    { key: "T", sensitive: true, description: "other" },
  ]);
  await call("PUT", `${OWN}/shared/variables/terraform/x`, { body: { value: "there" } });
  const all = await send("GET", vars);
  expect(all.many.map(({ attributes }) => attributes["value"])).toEqual([null, "there"]);
  const included = (await send("GET", `varsets/${id}?include=vars,stacks`)).json["included"];
  expect(included).toMatchObject([{ id: made.one.id }, { attributes: { value: "there" } }]);
  expect((await send("DELETE", one)).status).toBe(204);
  expect((await send("DELETE", one)).status).toBe(404);
});

it("a set becomes global and back, and has then lost what it was attached to", async () => {
  const { workspace, set, send, attached, call } = await startVariables();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" }, { workspaces: ids(shop), projects: ids("prj-web") });
  const change = async (attributes: object, relationships?: object) =>
    send("PATCH", `varsets/${id}`, attributes, relationships && { relationships });
  const same = await change({ name: "shared", global: false, priority: true, description: "" });
  expect(same.one.attributes).toMatchObject({ priority: true, "workspace-count": 1 });
  expect((await change({ global: true }, { workspaces: ids(shop) })).status).toBe(422);
  expect((await change({ global: true })).one.attributes).toMatchObject({ global: true });
  expect((await call("GET", `${OWN}/shared`)).json).toMatchObject({ projects: [], stacks: [] });
  const at = `varsets/${id}/relationships/workspaces`;
  expect((await send("POST", at, undefined, ids(shop))).detail).toContain('"global"');
  expect((await send("DELETE", at, undefined, ids(shop))).status).toBe(204);
  expect((await change({ global: false })).one.attributes).toMatchObject({ global: false });
  expect(await attached(id, "workspaces")).toEqual([]);
  // As a client replaces workspaces: projects stay.
  await send("POST", `varsets/${id}/relationships/projects`, undefined, ids("prj-web"));
  await change({ global: false }, { workspaces: ids(shop) });
  expect([await attached(id, "workspaces"), await attached(id, "projects")]).toEqual([
    [shop],
    ["prj-web"],
  ]);
  await change({ global: false }, { workspaces: ids() });
  expect([await attached(id, "workspaces"), await attached(id, "projects")]).toEqual([
    [],
    ["prj-web"],
  ]);
});

it("a set of a project has it as its parent, and is for its workspaces alone", async () => {
  const { workspace, set, send, attached, call } = await startVariables();
  const [shop, vpc] = [await workspace("shop", "web"), await workspace("vpc", "net")];
  const parent = { parent: { data: { id: "prj-web", type: "projects" } } };
  const { id } = await set({ name: "own" }, parent);
  const own = "/api/v1/projects/web/variable-sets/own";
  expect((await call("GET", own)).json["stacks"]).toEqual(["/"]);
  expect((await call("GET", "/api/v1/projects/web/stacks/shop/effective-variables")).status).toBe(
    200,
  );
  const at = `varsets/${id}/relationships`;
  expect((await send("POST", `${at}/workspaces`, undefined, ids(vpc))).status).toBe(422);
  expect((await send("PATCH", `varsets/${id}`, { global: true })).detail).toContain('"global"');
  await send("POST", `${at}/workspaces`, undefined, ids(shop));
  expect((await call("GET", own)).json["stacks"]).toEqual(["shop"]);
  await send("POST", `${at}/projects`, undefined, ids("prj-web"));
  expect([await attached(id, "workspaces"), await attached(id, "projects")]).toEqual([
    [shop],
    ["prj-web"],
  ]);
  await send("DELETE", `${at}/workspaces`, undefined, ids(shop));
  expect((await call("GET", own)).json["stacks"]).toEqual([]);
  await send("DELETE", `${at}/projects`, undefined, ids("prj-web"));
  expect((await call("GET", own)).json["stacks"]).toEqual(["/"]);
  const shared = await set({ name: "own" });
  expect(shared.id).not.toBe(id);
  expect(shared.relationships["parent"]?.data).toMatchObject({ id: "default" });
});

it("sets that were made elsewhere are shown with what they match; patterns are changed there", async () => {
  const { workspace, send, attached, call } = await startVariables();
  const shop = await workspace("shop", "web");
  await workspace("site", "web");
  for (const body of [
    { name: "all" },
    { name: "exact", projects: ["web"] },
    { name: "matching", projects: ["w*"], stacks: ["sh*"] },
    { name: "qualified", stacks: ["web/sh*", "n*/vpc"] },
  ]) {
    expect((await call("POST", OWN, { body })).status).toBe(201);
  }
  await call("POST", "/api/v1/projects/web/variable-sets", { body: { name: "own" } });
  const all = (await send("GET", SETS)).many;
  const idOf = (name: string) => all.find((one) => one.attributes["name"] === name)?.id ?? "";
  expect(all.map(({ attributes: { name, global } }) => [name, global])).toEqual([
    ["all", true],
    ["exact", false],
    ["matching", false],
    ["own", false],
    ["qualified", false],
  ]);
  const shown = [];
  for (const name of ["all", "exact", "matching", "own", "qualified"]) {
    shown.push([await attached(idOf(name), "workspaces"), await attached(idOf(name), "projects")]);
  }
  expect(shown).toEqual([
    [[], []],
    [[], ["prj-web"]],
    [[shop], []],
    [[], ["prj-web"]],
    [[shop], []],
  ]);
  for (const name of ["matching", "qualified"]) {
    const at = `varsets/${idOf(name)}/relationships/workspaces`;
    for (const method of ["POST", "DELETE"]) {
      const refused = await send(method, at, undefined, ids(shop));
      expect([refused.status, refused.detail]).toEqual([422, expect.stringContaining("patterns")]);
    }
    const kept = await send("PATCH", `varsets/${idOf(name)}`, { global: false, priority: true });
    expect(kept.one.attributes).toMatchObject({ priority: true });
  }
  expect((await call("GET", `${OWN}/matching`)).json).toMatchObject({
    projects: ["w*"],
    stacks: ["sh*"],
    priority: true,
  });
  const exact = `varsets/${idOf("exact")}/relationships/workspaces`;
  expect((await send("POST", exact, undefined, ids(shop))).status).toBe(204);
  expect((await call("GET", `${OWN}/exact`)).json).toMatchObject({
    projects: [],
    stacks: ["web/*", "web/shop"],
  });
});

it("sets are listed by pages and parts of their names, with what is included", async () => {
  const { workspace, set, send } = await startVariables();
  const shop = await workspace("shop", "web");
  for (let index = 10; index < 35; index += 1) await set({ name: `set-${index}` });
  await set({ name: "attached" }, { workspaces: ids(shop), projects: ids("prj-web") });
  const second = await send("GET", `${SETS}?page%5Bnumber%5D=2`);
  expect(second.many.length).toBe(6);
  expect(second.json["meta"]).toMatchObject({ pagination: { "total-count": 26, "prev-page": 1 } });
  const found = await send("GET", `${SETS}?q=TACH&include=workspaces,projects`);
  expect(found.many.map(({ attributes }) => attributes["name"])).toEqual(["attached"]);
  expect(found.json["included"]).toMatchObject([
    { id: shop, type: "workspaces", attributes: { name: "shop" } },
    { id: "prj-web", type: "projects" },
  ]);
  expect((await send("GET", `${SETS}?page%5Bsize%5D=-1&include=&q=`)).status).toBe(200);
});

it("what the server cannot do is refused with its attribute", async () => {
  const { workspace, set, send, call } = await startVariables();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" });
  const many = Array.from({ length: 201 }, () => "prj-web");
  const refusals: readonly (readonly [string, string, object, object, string])[] = [
    ["POST", SETS, { name: "shared" }, {}, "Name has already been taken"],
    ["POST", SETS, {}, {}, '"name"'],
    ["POST", SETS, { name: "" }, {}, '"name"'],
    ["POST", SETS, { name: "a b" }, {}, '"name"'],
    ["POST", SETS, { name: "../x" }, {}, '"name"'],
    ["POST", SETS, { name: "набор" }, {}, '"name"'],
    ["POST", SETS, { name: "a".repeat(65) }, {}, '"name"'],
    ["POST", SETS, { name: ["a"] }, {}, '"name"'],
    ["POST", SETS, { name: "a", description: "d".repeat(1_025) }, {}, '"description"'],
    ["POST", SETS, { name: "a", global: "true" }, {}, '"global"'],
    ["POST", SETS, { name: "a", priority: 1 }, {}, '"priority"'],
    ["POST", SETS, { name: "a" }, { vars: { data: [{ type: "vars" }] } }, '"vars"'],
    ["POST", SETS, { name: "a" }, { stacks: ids("st-1") }, '"stacks"'],
    ["POST", SETS, { name: "a" }, { workspaces: { data: { id: shop } } }, '"workspaces"'],
    ["POST", SETS, { name: "a", global: true }, { workspaces: ids(shop) }, '"global"'],
    ["POST", SETS, { name: "a" }, { projects: ids(...many) }, "at most 200"],
    ["PATCH", `varsets/${id}`, { name: "other" }, {}, '"name"'],
    ["PATCH", `varsets/${id}`, {}, { parent: { data: { id: "prj-web" } } }, '"parent"'],
    [
      "POST",
      `varsets/${id}/relationships/vars`,
      { key: "a", category: "env", hcl: true },
      {},
      "hcl",
    ],
  ];
  for (const [method, path, attributes, relationships, text] of refusals) {
    const { status, detail } = await send(method, path, attributes, { relationships });
    expect([attributes, relationships, status, detail]).toEqual([
      attributes,
      relationships,
      422,
      expect.stringContaining(text),
    ]);
  }
  const at = `varsets/${id}/relationships/projects`;
  for (const data of [{}, null, "x", [1], [{ id: 7 }]]) {
    expect([data, (await send("POST", at, undefined, { data })).status]).toEqual([data, 422]);
  }
  expect((await call("GET", OWN)).json["sets"]).toMatchObject([{ name: "shared", stacks: ["/"] }]);
});

it("a set is attached to 200 places, and one more is refused", async () => {
  const { set, send, call } = await startVariables();
  const { id } = await set({ name: "shared" });
  const stacks = Array.from({ length: 199 }, (_, index) => `web/stack-${index}`);
  for (const stack of stacks) {
    const name = stack.slice("web/".length);
    await call("POST", "/api/v1/projects/web/stacks", { body: { name } });
  }
  await call("PATCH", `${OWN}/shared`, { body: { stacks }, ...ANY });
  await call("POST", "/api/v1/projects", { body: { name: "net" } });
  const at = `varsets/${id}/relationships/projects`;
  expect((await send("POST", at, undefined, ids("prj-net"))).status).toBe(204);
  const refused = await send("POST", at, undefined, ids("prj-default"));
  expect([refused.status, refused.detail]).toEqual([422, expect.stringContaining("at most 200")]);
});

it("sets are written by those who administer what they are of, and read by those who see it", async () => {
  const { workspace, set, send, tokenOf } = await startVariables();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" }, { workspaces: ids(shop) });
  const parent = { parent: { data: { id: "prj-web", type: "projects" } } };
  const own = await set({ name: "own" }, { ...parent, projects: ids("prj-web") });
  const statuses = async (token: string, of: string, relationships: object) => {
    const at = `varsets/${of}`;
    const made = await send(
      "POST",
      `${at}/relationships/vars`,
      { key: "k", category: "env" },
      { token },
    );
    const tried = [
      await send("GET", at, undefined, { token }),
      await send("PATCH", at, { priority: true }, { token }),
      await send("POST", `${at}/relationships/workspaces`, undefined, { token, ...ids(shop) }),
      await send("DELETE", `${at}/relationships/projects`, undefined, { token, data: [] }),
      made,
      await send("DELETE", `${at}/relationships/vars/${made.one?.id}`, undefined, { token }),
      await send("POST", SETS, { name: "more" }, { token, relationships }),
    ];
    return tried.map(({ status }) => status);
  };
  const none = [200, 403, 403, 403, 403, 403, 403];
  const all = [200, 200, 204, 204, 201, 204, 201];
  const hidden = [404, 404, 404, 404, 404, 404];
  for (const role of ["reader", "planner", "deployer", "publisher"] as const) {
    expect([role, await statuses(await tokenOf(role), id, {})]).toEqual([role, none]);
  }
  expect(await statuses("", id, {})).toEqual(none.map(() => 401));
  expect(await statuses(await tokenOf("admin", ["web"]), id, {})).toEqual(none);
  expect(await statuses(await tokenOf("admin", ["net"]), id, {})).toEqual([...hidden, 403]);
  expect(await statuses(await tokenOf("admin", ["net"]), own.id, parent)).toEqual([...hidden, 404]);
  expect(await statuses(await tokenOf("deployer", ["web"]), own.id, parent)).toEqual(none);
  expect(await statuses(await tokenOf("admin", ["web"]), own.id, parent)).toEqual(all);
  expect(await statuses(await tokenOf("admin"), id, {})).toEqual(all);
});

it("a caller of some projects learns no names of others by sets", async () => {
  const { workspace, set, send, tokenOf, attached } = await startVariables();
  const [shop, vpc] = [await workspace("shop", "web"), await workspace("vpc", "net")];
  const both = await set(
    { name: "both" },
    { workspaces: ids(shop, vpc), projects: ids("prj-net") },
  );
  await set({ name: "hidden" }, { projects: ids("prj-net") });
  await set({ name: "nothing" });
  await set({ name: "of-net" }, { parent: { data: { id: "prj-net" } } });
  const token = await tokenOf("reader", ["web"]);
  const list = await send("GET", `${SETS}?include=workspaces,projects,vars`, undefined, { token });
  expect(list.many.map(({ attributes }) => attributes["name"])).toEqual(["both"]);
  expect(list.text).not.toMatch(/net|vpc/);
  expect(await attached(both.id, "workspaces", token)).toEqual([shop]);
  expect(await attached(both.id, "projects", token)).toEqual([]);
  expect((await send("GET", "projects/prj-net/varsets", undefined, { token })).status).toBe(404);
  expect((await send("GET", `workspaces/${vpc}/varsets`, undefined, { token })).status).toBe(404);
});

it("sets and workspaces of another account are none", async () => {
  const { server, send, set, workspace } = await startVariables();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" }, { workspaces: ids(shop) });
  const { token } = await server.credentials.createToken({
    account: "other",
    roles: ["admin"],
    projects: [],
  });
  const own = await send("POST", "organizations/other/varsets", { name: "shared" }, { token });
  expect([own.status, own.one.id === id]).toEqual([201, false]);
  const tried = [
    await send("GET", SETS, undefined, { token }),
    await send("GET", `varsets/${id}`, undefined, { token }),
    await send("PATCH", `varsets/${id}`, { global: true }, { token }),
    await send("DELETE", `varsets/${id}`, undefined, { token }),
    await send(
      "POST",
      `varsets/${id}/relationships/vars`,
      { key: "a", category: "env" },
      { token },
    ),
    await send("POST", `varsets/${own.one.id}/relationships/workspaces`, undefined, {
      token,
      ...ids(shop),
    }),
    await send("POST", `varsets/${own.one.id}/relationships/projects`, undefined, {
      token,
      ...ids("prj-web"),
    }),
  ];
  expect(tried.map(({ status }) => status)).toEqual(tried.map(() => 404));
});

it("requests at once lose nothing that the others attached or added", async () => {
  const { workspace, set, send, attached } = await startVariables();
  const { id } = await set({ name: "shared" });
  const all: string[] = [];
  for (const name of ["a", "b", "c", "d"]) all.push(await workspace(name, "web"));
  const at = `varsets/${id}/relationships`;
  const answers = await Promise.all([
    ...all.map(async (one) => send("POST", `${at}/workspaces`, undefined, ids(one))),
    ...all.map(async (_, index) =>
      send("POST", `${at}/vars`, { key: `k${index}`, category: "env", value: "v" }),
    ),
    send("PATCH", `varsets/${id}`, { description: "more" }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([
    ...Array(4).fill(204),
    ...Array(4).fill(201),
    200,
  ]);
  expect(await attached(id, "workspaces")).toEqual(all.toSorted());
  expect((await send("GET", `${at}/vars`)).many.length).toBe(4);
  const [updated, deleted] = await Promise.all([
    send("POST", `${at}/vars`, { key: "late", category: "env" }),
    send("DELETE", `varsets/${id}`),
  ]);
  expect(deleted.status).toBe(204);
  expect([201, 404]).toContain(updated.status);
  expect((await send("GET", SETS)).many).toEqual([]);
});

it("changes of sets are in the audit trail, as those of the server's own routes", async () => {
  const { set, send, call } = await startVariables();
  const { id } = await set({ name: "shared" });
  await send("PATCH", `varsets/${id}`, { priority: true });
  const vars = `varsets/${id}/relationships/vars`;
  const { one } = await send("POST", vars, { key: "a", category: "env" });
  await send("DELETE", `${vars}/${one.id}`);
  await send("DELETE", `varsets/${id}`);
  const { json } = await call("GET", "/api/v1/audit");
  const entries = json["entries"] as { readonly action: string; readonly target: string }[];
  const found = entries.filter(({ target }) => target.startsWith("variable-sets/shared"));
  expect(found.map(({ action }) => action).toSorted()).toEqual([
    "ChangeAccountVariableSet",
    "CreateAccountVariableSet",
    "DeleteAccountSetVariable",
    "DeleteAccountVariableSet",
    "SetAccountSetVariable",
  ]);
});

it.each([
  ["admin of the project alone", undefined, undefined],
  ["operator of another project beside that", "operator", undefined],
  ["operator of the account beside that", undefined, "operator"],
])("sets of a project are written by its admin: %s", async (_title, elsewhere, everywhere) => {
  const { send, call } = await startVariables();
  for (const name of ["web", "net"]) await call("POST", "/api/v1/projects", { body: { name } });
  await call("POST", "/api/v1/users", { body: { name: "ann", service: true } });
  const give = async (path: string, role: string | undefined) =>
    role && call("PUT", `${path}/roles/user/ann`, { body: { role } });
  await give("/api/v1/projects/web", "admin");
  await give("/api/v1/projects/net", elsewhere);
  await give("/api/v1", everywhere);
  const created = await call("POST", "/api/v1/tokens", { body: { user: "ann", role: "admin" } });
  const token = String(created.json["token"]);
  const parent = (id: string) => ({ parent: { data: { id, type: "projects" } } });
  const made = await send(
    "POST",
    SETS,
    { name: "own" },
    { token, relationships: parent("prj-web") },
  );
  expect(made.status, made.text).toBe(201);
  const at = `varsets/${made.one.id}`;
  const key = { key: "a", value: "1", category: "env" };
  expect((await send("POST", `${at}/relationships/vars`, key, { token })).status).toBe(201);
  expect((await send("PATCH", at, { description: "d" }, { token })).status).toBe(200);
  // Neither those of the account, nor those of other projects.
  expect((await send("POST", SETS, { name: "all" }, { token })).status).toBe(403);
  const other = { token, relationships: parent("prj-net") };
  expect([403, 404]).toContain((await send("POST", SETS, { name: "net" }, other)).status);
  expect((await send("DELETE", at, undefined, { token })).status).toBe(204);
});

it.each([
  { data: { type: "projects", id: 5 } },
  { data: [{ type: "projects", id: "prj-web" }] },
  { data: { type: "projects", attributes: { name: "web" } } },
  "prj-web",
  {},
])(
  "a parent that is no relation to one project is refused, not the account: %j",
  async (parent) => {
    const { send, set } = await startVariables();
    const relationships = { parent };
    const made = await send("POST", SETS, { name: "own", global: true }, { relationships });
    expect([made.status, made.detail]).toEqual([
      422,
      '"parent" has to be a relation to one resource',
    ]);
    expect((await send("GET", SETS)).many).toEqual([]);
    const { id } = await set({ name: "kept" });
    const changed = await send("PATCH", `varsets/${id}`, { description: "d" }, { relationships });
    expect(changed.status).toBe(422);
  },
);

it("a set without a parent, or with none, is one of the account", async () => {
  const { send } = await startVariables();
  for (const [name, more] of [
    ["a", {}],
    ["b", { relationships: { parent: { data: null } } }],
  ] as const) {
    const made = await send("POST", SETS, { name }, more);
    expect(made.one.relationships["organization"]?.data).toMatchObject({ id: "default" });
    expect(made.status).toBe(201);
  }
});

it("workspaces that were deleted leave room for others, once a set is attached to as many as it can be", async () => {
  const { workspace, set, send, call } = await startVariables();
  const kept = await workspace("kept", "web");
  const { id } = await set({ name: "own" }, { parent: { data: { id: "prj-web" } } });
  const at = `varsets/${id}/relationships/workspaces`;
  expect((await send("POST", at, undefined, ids(kept))).status).toBe(204);
  for (let index = 0; index < 51; index += 1) {
    const one = await workspace(`pr-${index}`, "web");
    const attached = await send("POST", at, undefined, ids(one));
    expect([index, attached.status]).toEqual([index, 204]);
    const { status } = await call("DELETE", `/api/v2/workspaces/${one}`);
    expect(status).toBe(204);
  }
  const shown = await send("GET", `varsets/${id}`);
  expect(shown.one.relationships["workspaces"]?.data).toMatchObject([{ id: kept }]);
});

it("a set with patterns is attached to others by a change that names all of its places", async () => {
  const { workspace, set, send, call } = await startVariables();
  const shop = await workspace("shop", "web");
  const { id } = await set({ name: "shared" });
  await call("PATCH", `${OWN}/shared`, { body: { stacks: ["sh*"] }, ...ANY });
  const change = async (relationships: object) =>
    (await send("PATCH", `varsets/${id}`, { global: false }, { relationships })).status;
  expect(await change({ workspaces: ids(shop) })).toBe(422);
  expect(await change({ workspaces: ids(shop), projects: ids("prj-default") })).toBe(200);
  expect((await call("GET", `${OWN}/shared`)).json["stacks"]).toEqual(["web/shop", "default/*"]);
});
