import { RegistryNamespace } from "@stackwright/proto/stackwright";
import { listResourceHeads, tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { accountPlace, KINDS_GONE_WITH_ACCOUNTS } from "../../domain/kinds-of-accounts.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { startApi } from "../../testing/start-api.ts";

const ANY = { "if-match": "*" };

/** A server whose first credential administers all accounts, with calls about them. */
async function start() {
  const api = await startApi("none");
  const { call, server } = api;
  const { storage } = server.credentials.records;
  const make = async (name: string, settings: object = {}) =>
    call("POST", "/api/v1/accounts", { body: { name, ...settings } });
  const tokenFor = async (account: string) => {
    const made = await call("POST", `/api/v1/accounts/${account}/tokens`, { body: {} });
    expect([made.status, made.text]).toEqual([201, made.text]);
    return String(made.json["token"]);
  };
  const names = async (query = "") => {
    const { json } = await call("GET", `/api/v1/accounts${query}`);
    return (json["accounts"] as readonly { readonly name: string }[]).map(({ name }) => name);
  };
  const remove = async (name: string, headers: Readonly<Record<string, string>> = ANY) =>
    call("DELETE", `/api/v1/accounts/${name}`, { headers });
  /** The kinds of what is stored of an account. */
  const stored = async (account: string) => {
    const where = { partition: account, peerName: "*", namespace: "*" };
    const found: string[] = [];
    for (const type of [...KINDS_GONE_WITH_ACCOUNTS, SERVER_KINDS.account.type]) {
      for await (const { id } of listResourceHeads(storage, "strong", type, where, "")) {
        found.push(id.type.kind);
      }
    }
    return found;
  };
  return { ...api, storage, make, tokenFor, names, remove, stored };
}

it("an account is made, shown, changed by its entity tag, and listed beside those that are there by their credentials", async () => {
  const { call, make, names, server } = await start();
  const made = await make("acme", { display_name: "Acme", description: "of the shop" });
  expect(made.status).toBe(201);
  expect(made.headers.get("location")).toBe("/api/v1/accounts/acme");
  expect(made.json).toMatchObject({ name: "acme", display_name: "Acme", deleting: false });
  expect((await make("acme")).json["code"]).toBe("name_taken");
  expect((await make("default")).json["code"]).toBe("name_taken");
  expect((await make("stackwright")).status).toBe(422);
  // None is made that a sign-in could not name.
  for (const name of ["a.b", "Shop", "a".repeat(64), "-a"]) {
    expect([name, (await make(name)).status]).toEqual([name, 400]);
  }
  expect((await make("a".repeat(63))).status).toBe(201);
  await server.credentials.createToken({ account: "older", roles: ["reader"] });
  expect(await names()).toEqual(["a".repeat(63), "acme", "default", "older"]);
  const at = "/api/v1/accounts/acme";
  const shown = await call("GET", at);
  expect(shown.json).toMatchObject({ description: "of the shop", contents: [] });
  const tag = String(shown.headers.get("etag"));
  expect(tag).toBe(made.headers.get("etag"));
  const change = async (tag: string | undefined, body: object) =>
    call("PATCH", at, { body, ...(tag !== undefined && { headers: { "if-match": tag } }) });
  expect((await change(undefined, { description: "" })).status).toBe(428);
  expect((await change('"other"', { description: "" })).status).toBe(412);
  const changed = await change(tag, { description: "of the shops" });
  expect(changed.json).toMatchObject({ display_name: "Acme", description: "of the shops" });
  expect((await change(tag, { description: "" })).status).toBe(412);
  expect((await call("GET", "/api/v1/accounts/none")).status).toBe(404);
});

it("accounts are listed in pages", async () => {
  const { call, make } = await start();
  for (const name of ["a", "b", "c"]) expect((await make(name)).status).toBe(201);
  const first = await call("GET", "/api/v1/accounts?limit=2");
  expect(first.json["accounts"]).toMatchObject([{ name: "a" }, { name: "b" }]);
  expect(first.headers.get("link")).toContain('rel="next"');
  const next = String(first.json["next"]);
  const rest = await call("GET", `/api/v1/accounts?limit=2&after=${next}`);
  expect(rest.json["accounts"]).toMatchObject([{ name: "c" }, { name: "default" }]);
  expect(rest.json["next"]).toBeUndefined();
});

it("accounts are found by a part of their names, page by page", async () => {
  const { call, make, names } = await start();
  for (const name of ["shop", "web-shop", "shopping", "net"]) {
    expect((await make(name)).status).toBe(201);
  }
  expect(await names("?q=SHOP")).toEqual(["shop", "shopping", "web-shop"]);
  const first = await call("GET", "/api/v1/accounts?q=shop&limit=2");
  const next = String(first.json["next"]);
  expect(first.headers.get("link")).toContain(`&after=${next}&q=shop>`);
  expect(await names(`?q=shop&limit=2&after=${next}`)).toEqual(["web-shop"]);
  expect(await names("?q=%")).toEqual([]);
});

it("the first token of an account administers that account, and no other", async () => {
  const { call, make, tokenFor } = await start();
  await make("acme");
  const token = await tokenFor("acme");
  const ask = async (method: string, path: string, body?: object) =>
    call(method, path, { token, body, ...(method !== "POST" && { headers: ANY }) });
  expect((await ask("GET", "/api/v1/caller")).json).toMatchObject({
    account: "acme",
    roles: ["registry:admin"],
  });
  expect((await ask("POST", "/api/v1/users", { name: "lea" })).status).toBe(201);
  const role = await ask("PUT", "/api/v1/roles/user/lea", { role: "admin" });
  expect(role.status).toBe(200);
  expect((await ask("POST", "/api/v1/projects", { name: "web" })).status).toBe(201);
  expect((await call("GET", "/api/v1/projects/web")).status).toBe(404);
  expect((await ask("PATCH", "/api/v1/accounts/acme", { display_name: "A" })).status).toBe(200);
  expect((await ask("GET", "/api/v1/accounts/acme")).json["contents"]).toEqual([
    { what: "projects", count: 1 },
  ]);
  // Another account is not there for it, and the list is none of its business.
  expect((await ask("GET", "/api/v1/accounts/default")).status).toBe(404);
  expect((await ask("PATCH", "/api/v1/accounts/default", { description: "x" })).status).toBe(404);
  for (const [method, path] of [
    ["GET", "/api/v1/accounts"],
    ["POST", "/api/v1/accounts"],
    ["DELETE", "/api/v1/accounts/acme"],
    ["POST", "/api/v1/accounts/acme/tokens"],
    ["POST", "/api/v1/accounts/default/tokens"],
  ] as const) {
    const body = method === "POST" ? { name: "new" } : undefined;
    expect([method, path, (await ask(method, path, body)).status]).toEqual([method, path, 403]);
  }
  const { status } = await call("POST", "/api/v1/accounts/none/tokens", { body: {} });
  expect(status).toBe(404);
});

it("the audit trail of both accounts has who made the token of an administrator", async () => {
  const { call, make, tokenFor } = await start();
  await make("acme");
  const token = await tokenFor("acme");
  const actionsOf = async (asked?: string) => {
    const { json } = await call("GET", "/api/v1/audit?limit=1000", { token: asked });
    const entries = json["entries"] as readonly { action: string; outcome: string }[];
    return entries.filter(({ outcome }) => outcome === "done").map(({ action }) => action);
  };
  expect(await actionsOf()).toEqual(["CreateAccount", "CreateAccountToken"]);
  expect(await actionsOf(token)).toEqual(["CreateAccountToken"]);
});

it("an account with something in it is not deleted, and the refusal says what is left", async () => {
  const { call, make, tokenFor, remove } = await start();
  await make("acme");
  const token = await tokenFor("acme");
  const asAcme = async (method: string, path: string, body?: object) =>
    call(method, path, { token, body, headers: ANY });
  await asAcme("POST", "/api/v1/projects/web/stacks", { name: "one" });
  await asAcme("POST", "/api/v1/variable-sets", { name: "shared" });
  const refused = await remove("acme");
  expect([refused.status, refused.json["code"]]).toEqual([409, "not_empty"]);
  expect(refused.json["detail"]).toBe('the account "acme" has stacks: 1, variable sets: 1');
  expect((await call("GET", "/api/v1/accounts/acme")).json["deleting"]).toBe(false);
  expect((await asAcme("GET", "/api/v1/caller")).status).toBe(200);
});

it("an empty account is deleted with its users, roles and credentials, and one of its name begins without them", {
  timeout: 30_000,
}, async () => {
  const { call, make, tokenFor, remove, names, stored } = await start();
  const made = await make("acme");
  const tag = String(made.headers.get("etag"));
  await make("acme-2");
  const other = await tokenFor("acme-2");
  const token = await tokenFor("acme");
  await call("POST", "/api/v1/users", { token, body: { name: "lea" } });
  await call("PUT", "/api/v1/roles/user/lea", { token, body: { role: "admin" } });
  expect(await stored("acme")).toEqual(expect.arrayContaining(["User", "RoleBinding", "Account"]));
  expect((await remove("acme", {})).status).toBe(428);
  expect((await remove("acme", { "if-match": '"other"' })).status).toBe(412);
  expect((await call("GET", "/api/v1/users", { token })).status).toBe(200);
  expect((await remove("acme", { "if-match": tag })).status).toBe(204);
  expect(await stored("acme")).toEqual([]);
  expect((await call("GET", "/api/v1/users", { token })).status).toBe(401);
  expect(await names()).toEqual(["acme-2", "default"]);
  expect((await remove("acme")).status).toBe(404);
  expect((await call("GET", "/api/v1/users", { token: other })).status).toBe(200);
  await make("acme");
  const again = await tokenFor("acme");
  const { users } = (await call("GET", "/api/v1/users", { token: again })).json;
  expect(users).toEqual([]);
});

it("the account of the caller is not deleted", async () => {
  const { remove } = await start();
  const refused = await remove("default");
  expect([refused.status, refused.json["code"]]).toEqual([409, "conflict"]);
});

it("a deletion that was interrupted is shown, keeps others from making tokens, and is ended by another one", {
  timeout: 30_000,
}, async () => {
  const { call, make, remove, storage, names } = await start();
  await make("acme");
  const id = { uid: "", type: SERVER_KINDS.account.type, ...accountPlace("acme") };
  const found = await storage.read("strong", id);
  const { codec } = SERVER_KINDS.account;
  const message = codec.decode(found.data?.value ?? new Uint8Array());
  const value = codec.encode({ ...message, deletingAtMs: 5n }).finish();
  await storage.writeCAS({ ...found, generation: "g", data: { ...found.data, value } as never });
  expect((await call("GET", "/api/v1/accounts/acme")).json["deleting"]).toBe(true);
  const refused = await call("POST", "/api/v1/accounts/acme/tokens", { body: {} });
  expect([refused.status, refused.json["code"]]).toEqual([409, "conflict"]);
  expect((await make("acme")).json["code"]).toBe("name_taken");
  expect((await remove("acme")).status).toBe(204);
  expect(await names()).toEqual(["default"]);
});

it("an account that is there by nothing but a variable set, a namespace or a team is shown, and another one does not get its name", async () => {
  const { call, make, names, remove, server, storage } = await start();
  const { token } = await server.credentials.createToken({ account: "old", roles: ["admin"] });
  const shared = { token, body: { name: "shared" } };
  expect((await call("POST", "/api/v1/variable-sets", shared)).status).toBe(201);
  for (const { actor } of await server.credentials.list("old")) {
    await server.credentials.revoke(actor);
  }
  const namespace = RegistryNamespace.encode(
    RegistryNamespace.create({ account: "publisher" }),
  ).finish();
  await storage.writeCAS({
    id: {
      uid: "n",
      name: "acme",
      type: { group: "stackwright", groupVersion: "v1", kind: "RegistryNamespace" },
      tenancy: tenancyOf({ kind: "credentials" }),
    },
    version: "",
    generation: "n",
    metadata: {},
    status: {},
    data: {
      typeUrl: "type.googleapis.com/stackwright.v1.RegistryNamespace",
      value: namespace,
    },
  });
  const crew = await server.credentials.createToken({ account: "crew", roles: ["admin"] });
  const ops = { token: crew.token, body: { name: "ops", groups: ["ops"] } };
  expect((await call("POST", "/api/v1/teams", ops)).status).toBe(201);
  for (const { actor } of await server.credentials.list("crew")) {
    await server.credentials.revoke(actor);
  }
  expect(await names()).toEqual(["crew", "default", "old", "publisher"]);
  expect((await make("crew")).json["code"]).toBe("name_taken");
  expect((await remove("crew")).status).toBe(204);
  for (const [name, what] of [
    ["old", "variable sets"],
    ["publisher", "namespaces of published providers"],
  ] as const) {
    const shown = await call("GET", `/api/v1/accounts/${name}`);
    expect(shown.json["contents"]).toEqual([{ what, count: 1 }]);
    expect((await make(name)).json["code"]).toBe("name_taken");
    expect((await remove(name)).json["code"]).toBe("not_empty");
  }
});

it.each([
  ["of another kind", { typeUrl: "damaged", value: new Uint8Array() }],
  [
    "cut",
    {
      typeUrl: "type.googleapis.com/stackwright.v1.Account",
      value: new Uint8Array([255, 255, 255]),
    },
  ],
])(
  "an account whose record is %s is shown without details, and deleted",
  {
    timeout: 30_000,
  },
  async (_what, data) => {
    const { call, make, remove, storage, names } = await start();
    await make("acme", { description: "of the shop" });
    await make("other");
    const id = { uid: "", type: SERVER_KINDS.account.type, ...accountPlace("acme") };
    const found = await storage.read("strong", id);
    await storage.writeCAS({ ...found, generation: "g", data });
    expect(await names()).toEqual(["acme", "default", "other"]);
    const shown = await call("GET", "/api/v1/accounts/acme");
    expect(shown.json).toMatchObject({ name: "acme", description: "", contents: [] });
    expect((await remove("acme", { "if-match": '"other"' })).status).toBe(412);
    expect((await remove("acme", { "if-match": String(shown.headers.get("etag")) })).status).toBe(
      204,
    );
    expect(await names()).toEqual(["default", "other"]);
  },
);

it("settings that were emptied keep no account, and go with it", { timeout: 30_000 }, async () => {
  const { call, make, tokenFor, remove, stored, names } = await start();
  await make("acme");
  const token = await tokenFor("acme");
  const hooks = async (given: readonly object[], headers = {}) =>
    call("PUT", "/api/v1/projects/web/hooks", { token, headers, body: { hooks: given } });
  const hook = { name: "a", stage: "before_plan", command: ["true"] };
  expect((await hooks([hook])).status).toBe(200);
  const at = "/api/v1/projects/web/notifications";
  const destination = { name: "ops", kind: "webhook", url: "https://example.com/" };
  expect((await call("POST", at, { token, body: destination })).status).toBe(201);
  const contents = async () => (await call("GET", "/api/v1/accounts/acme")).json["contents"];
  expect(await contents()).toEqual([
    { what: "hooks of runs", count: 1 },
    { what: "projects with destinations of notifications", count: 1 },
  ]);
  expect((await hooks([], ANY)).status).toBe(200);
  expect((await call("DELETE", `${at}/ops`, { token, headers: ANY })).status).toBe(204);
  expect(await contents()).toEqual([]);
  expect(await stored("acme")).toEqual(
    expect.arrayContaining(["NotificationSettings", "RunHooks"]),
  );
  expect((await remove("acme")).status).toBe(204);
  expect(await stored("acme")).toEqual([]);
  expect(await names()).toEqual(["default"]);
});
