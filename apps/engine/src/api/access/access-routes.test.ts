import { signRequest } from "@stackwright/request-signing";
import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

/** A server with a stack in `web` and one in `net`, and calls of the admin of the account that make users. */
async function start() {
  const api = await startApi("none");
  const { call } = api;
  for (const project of ["web", "net"]) {
    await call("POST", `/api/v1/projects/${project}/stacks`, { body: { name: "one" } });
  }
  const user = async (name: string, roles: Readonly<Record<string, string>> = {}) => {
    expect((await call("POST", "/api/v1/users", { body: { name, service: true } })).status).toBe(
      201,
    );
    for (const [place, role] of Object.entries(roles)) {
      const path = place === "account" ? "/api/v1" : `/api/v1/projects/${place}`;
      const given = await call("PUT", `${path}/roles/user/${name}`, { body: { role } });
      expect(given.status).toBe(200);
    }
  };
  const tokenFor = async (user: string, given: object = {}) => {
    const body = { user, role: "admin", ...given };
    const made = await call("POST", "/api/v1/tokens", { body });
    expect(made.status).toBe(201);
    return made.json as { readonly id: string; readonly token: string };
  };
  const statusOf = async (token: string, method: string, path: string, body?: object) =>
    (await call(method, path, { token, body })).status;
  return { ...api, user, tokenFor, statusOf };
}

it("a token has the rights of its user at the time of each request", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("bot");
  const { token } = await tokenFor("bot");
  expect(await statusOf(token, "GET", `${P}/stacks`)).toBe(403);
  expect(await statusOf(token, "GET", "/api/v1/caller")).toBe(200);
  await call("PUT", `${P}/roles/user/bot`, { body: { role: "viewer" } });
  expect(await statusOf(token, "GET", `${P}/stacks`)).toBe(200);
  expect(await statusOf(token, "POST", `${P}/stacks`, { name: "two" })).toBe(403);
  await call("PUT", `${P}/roles/user/bot`, { body: { role: "admin" } });
  expect(await statusOf(token, "POST", `${P}/stacks`, { name: "two" })).toBe(201);
  await call("PATCH", "/api/v1/users/bot", { body: { disabled: true } });
  expect(await statusOf(token, "GET", `${P}/stacks`)).toBe(401);
  await call("PATCH", "/api/v1/users/bot", { body: { disabled: false } });
  await call("DELETE", `${P}/roles/user/bot`);
  expect(await statusOf(token, "GET", `${P}/stacks`)).toBe(403);
});

it("another project does not exist for those who have no role in it, and an admin of one is none of the account", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("lead", { web: "admin" });
  const { token } = await tokenFor("lead");
  expect(await statusOf(token, "GET", "/api/v1/projects/net/stacks")).toBe(404);
  expect(await statusOf(token, "GET", "/api/v1/projects/net/stacks/one")).toBe(404);
  expect(
    await statusOf(token, "PUT", "/api/v1/projects/net/roles/user/lead", { role: "admin" }),
  ).toBe(404);
  const { json } = await call("GET", "/api/v1/projects", { token });
  expect(json["projects"]).toEqual([{ name: "web" }]);
  for (const path of ["/api/v1/users", "/api/v1/teams", "/api/v1/roles"]) {
    expect([path, await statusOf(token, "GET", path)]).toEqual([path, 403]);
  }
  expect(await statusOf(token, "POST", "/api/v1/projects", { name: "new" })).toBe(403);
  expect(await statusOf(token, "GET", "/api/v1/registry/credentials")).toBe(403);
  expect(await statusOf(token, "GET", "/api/v1/registry/audit")).toBe(403);
  expect(await statusOf(token, "PUT", `${P}/roles/user/lead`, { role: "operator" })).toBe(200);
});

it("a role of a team is that of its members, by name and by group, until the team or the membership ends", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("bot");
  const { token } = await tokenFor("bot");
  const team = { name: "ops", groups: ["platform"] };
  expect((await call("POST", "/api/v1/teams", { body: team })).status).toBe(201);
  await call("PUT", "/api/v1/roles/team/ops", { body: { role: "operator" } });
  expect(await statusOf(token, "GET", S)).toBe(403);
  await call("PUT", "/api/v1/teams/ops/members/bot");
  expect(await statusOf(token, "GET", S)).toBe(200);
  await call("DELETE", "/api/v1/teams/ops/members/bot");
  expect(await statusOf(token, "GET", S)).toBe(403);
  await call("PUT", "/api/v1/teams/ops/members/bot");
  expect((await call("DELETE", "/api/v1/teams/ops")).status).toBe(204);
  // A team of the same name begins without roles and members.
  await call("POST", "/api/v1/teams", { body: { name: "ops" } });
  await call("PUT", "/api/v1/teams/ops/members/bot");
  expect(await statusOf(token, "GET", S)).toBe(403);
  expect((await call("PUT", "/api/v1/teams/ops/members/other")).status).toBe(404);
  expect((await call("PUT", "/api/v1/roles/team/none", { body: { role: "viewer" } })).status).toBe(
    404,
  );
});

it("a project leaves no role to another one of its name", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("bot");
  const { token } = await tokenFor("bot");
  const at = "/api/v1/projects/lab";
  expect((await call("POST", "/api/v1/projects", { body: { name: "lab" } })).status).toBe(201);
  await call("PUT", `${at}/roles/user/bot`, { body: { role: "admin" } });
  expect(await statusOf(token, "GET", `${at}/stacks`)).toBe(200);
  const headers = { "if-match": '"other"' };
  expect((await call("DELETE", at, { headers })).status).toBe(412);
  expect(await statusOf(token, "GET", `${at}/stacks`)).toBe(200);
  expect((await call("DELETE", at, { headers: { "if-match": "*" } })).status).toBe(204);
  await call("POST", "/api/v1/projects", { body: { name: "lab" } });
  expect(await statusOf(token, "GET", `${at}/stacks`)).toBe(403);
  expect((await call("GET", `${at}/roles`)).json["roles"]).toEqual([]);
});

it("a planner plans and never approves or applies", async () => {
  const { call, upload, user, tokenFor } = await start();
  await user("planner", { account: "admin" });
  const { token } = await tokenFor("planner", { role: "planner" });
  const { digest } = (await upload()).json;
  const request = async (mode: string) =>
    call("POST", `${S}/runs`, { token, body: { configuration: digest, mode } });
  const plan = await request("plan_only");
  expect(plan.status).toBe(201);
  for (const mode of ["apply", "destroy", "refresh_only"]) {
    expect([mode, (await request(mode)).status]).toEqual([mode, 403]);
  }
  const run = `${S}/runs/${String(plan.json["id"])}`;
  const body = { plan_digest: digest };
  expect((await call("POST", `${run}/approvals`, { token, body })).status).toBe(403);
  expect((await call("POST", `${run}/retry`, { token, body: {} })).status).toBe(403);
  expect((await call("GET", "/api/v1/users", { token })).status).toBe(403);
});

it("a refusal names the role as users have it, and as tokens of machines do", async () => {
  const { call, upload, user, tokenFor } = await start();
  await user("planner", { account: "admin" });
  const { token } = await tokenFor("planner", { role: "planner" });
  const { digest } = (await upload()).json;
  const body = { configuration: digest, mode: "apply" };
  const refused = await call("POST", `${S}/runs`, { token, body });
  expect(refused.json["detail"]).toContain("needs the role operator (registry:deployer)");
});

it("a token that is limited to stacks sees and changes no others, nor what belongs to none", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await call("POST", `${P}/stacks`, { body: { name: "two" } });
  await user("bot", { account: "admin" });
  const { token } = await tokenFor("bot", { stacks: ["web/one"] });
  expect(await statusOf(token, "GET", S)).toBe(200);
  expect(await statusOf(token, "GET", `${P}/stacks/two`)).toBe(404);
  expect(await statusOf(token, "GET", "/api/v1/projects/net/stacks/one")).toBe(404);
  const { json } = await call("GET", `${P}/stacks`, { token });
  expect((json["stacks"] as { name: string }[]).map(({ name }) => name)).toEqual(["one"]);
  for (const path of [
    `${P}/variable-sets`,
    "/api/v1/variable-sets",
    "/api/v1/search",
    "/api/v1/watch?topics=stacks",
    "/api/v1/users",
  ]) {
    expect([path, await statusOf(token, "GET", path)]).toEqual([path, 403]);
  }
  expect(await statusOf(token, "GET", "/api/v2/organizations/default/workspaces")).toBe(403);
  expect(await statusOf(token, "GET", "/state/v1/default/web/two")).toBe(403);
});

it("a token that is limited to stacks learns no names of others by the cursors of pages", async () => {
  const { call, user, tokenFor } = await start();
  for (const name of ["a-hidden", "two", "three"]) {
    await call("POST", `${P}/stacks`, { body: { name } });
  }
  await user("bot", { account: "admin" });
  const { token } = await tokenFor("bot", { stacks: ["web/two", "web/one", "web/none"] });
  for (const [path, key] of [
    [`${P}/stacks`, "name"],
    [`${P}/tools`, "stack"],
  ] as const) {
    const names: unknown[] = [];
    const cursors: string[] = [];
    for (let after = ""; ; ) {
      const { json } = await call("GET", `${path}?limit=1${after}`, { token });
      names.push(...(json["stacks"] as Record<string, unknown>[]).map((one) => one[key]));
      const { next } = json as { readonly next?: string };
      if (next === undefined) break;
      cursors.push(Buffer.from(next, "base64url").toString());
      after = `&after=${next}`;
    }
    expect([path, names, cursors]).toEqual([path, ["one", "two"], ["one"]]);
  }
});

it("a token that a user makes with another one of its own is limited to the stacks that it names", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await call("POST", `${P}/stacks`, { body: { name: "two" } });
  await user("bot", { account: "operator" });
  const { token } = await tokenFor("bot");
  const body = { role: "operator", stacks: ["web/one"] };
  const made = await call("POST", "/api/v1/tokens", { token, body });
  const limited = String(made.json["token"]);
  expect(await statusOf(limited, "GET", S)).toBe(200);
  expect(await statusOf(limited, "GET", `${P}/stacks/two`)).toBe(404);
});

it("a token that is limited to stacks makes no credential, and changes nothing of the registry", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("bot", { account: "admin" });
  const { token } = await tokenFor("bot", { stacks: ["web/one"] });
  const registry = "/api/v1/registry";
  const given = { roles: ["registry:admin"], projects: ["web"] };
  expect(await statusOf(token, "POST", `${registry}/tokens`, given)).toBe(403);
  expect(await statusOf(token, "POST", `${registry}/access-keys`, given)).toBe(403);
  expect(await statusOf(token, "GET", `${registry}/credentials`)).toBe(403);
  expect(await statusOf(token, "GET", `${registry}/audit`)).toBe(403);
  const providers = "/v1/private-providers";
  const headers = { "client-request-id": "6e0f5f3a-6b6e-4c0e-8a53-0c1d7a1d2b3c" };
  expect((await call("GET", providers, { token, headers })).status).toBe(200);
  const body = { provider_name: "cloud" };
  expect((await call("POST", providers, { token, headers, body })).status).toBe(403);
});

it("a stolen token makes none that outlives it, lists and revokes only its own, and its last use is seen", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("bot", { account: "operator" });
  await user("other", { account: "admin" });
  const first = await tokenFor("bot", { role: "operator" });
  const others = await tokenFor("other");
  const { token } = first;
  const child = await call("POST", "/api/v1/tokens", { token, body: { role: "admin" } });
  expect(child.status).toBe(201);
  expect(await statusOf(token, "POST", "/api/v1/tokens", { role: "admin", user: "other" })).toBe(
    403,
  );
  const listed = (await call("GET", "/api/v1/tokens", { token })).json["tokens"];
  const shown = listed as { id: string; user: string; used_at?: string }[];
  expect(shown.map((one) => one.user)).toEqual(["bot", "bot"]);
  expect(shown.find(({ id }) => id === first.id)?.used_at).toBeDefined();
  expect(JSON.stringify(shown)).not.toContain(token);
  expect(await statusOf(token, "DELETE", `/api/v1/tokens/${others.id}`)).toBe(404);
  expect((await call("DELETE", `/api/v1/tokens/${first.id}`)).status).toBe(204);
  expect(await statusOf(token, "GET", S)).toBe(401);
  expect(await statusOf(String(child.json["token"]), "GET", S)).toBe(401);
});

it("what an admin makes at the registry with a token ends with that, with its roles and with the admin", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("deputy", { account: "admin" });
  await user("bot", { account: "admin" });
  const first = await tokenFor("bot");
  const second = await tokenFor("bot");
  const make = async (token: string, roles: readonly string[], more: object = {}) => {
    const body = { roles, ...more };
    const made = await call("POST", "/api/v1/registry/tokens", { token, body });
    expect(made.status).toBe(201);
    return String(made.json["token"]);
  };
  const child = await make(first.token, ["registry:admin"]);
  const grandchild = await make(child, ["registry:reader"]);
  const other = await make(second.token, ["registry:admin"]);
  const worker = await make(second.token, ["worker"], { storage_scopes: [{ project: "web" }] });
  for (const token of [child, grandchild]) expect(await statusOf(token, "GET", S)).toBe(200);
  const claim = { worker: "x", fence: "1", running: [] };
  expect(await statusOf(worker, "POST", "/api/v1/worker/claims", claim)).not.toBe(401);
  expect((await call("DELETE", `/api/v1/tokens/${first.id}`)).status).toBe(204);
  for (const token of [child, grandchild]) expect(await statusOf(token, "GET", S)).toBe(401);
  expect(await statusOf(other, "GET", "/api/v1/users")).toBe(200);
  await call("PUT", "/api/v1/roles/user/bot", { body: { role: "viewer" } });
  expect(await statusOf(other, "GET", "/api/v1/users")).toBe(403);
  expect(await statusOf(worker, "POST", "/api/v1/worker/claims", claim)).toBe(401);
  await call("PATCH", "/api/v1/users/bot", { body: { disabled: true } });
  for (const token of [other, worker]) expect(await statusOf(token, "GET", S)).toBe(401);
});

it("an access key of a user ends with the token that made it, and makes nothing that outlives it", async () => {
  const { server, call, user, tokenFor } = await start();
  await user("bot", { account: "admin" });
  const { id, token } = await tokenFor("bot");
  const made = await call("POST", "/api/v1/registry/access-keys", {
    token,
    body: { roles: ["registry:admin"] },
  });
  const accessKey = String(made.json["access_key"]);
  const secretKey = String(made.json["secret_key"]);
  const signed = async (method: "GET" | "POST", path: string, given?: object) => {
    const body = given === undefined ? "" : JSON.stringify(given);
    const { host } = new URL(server.url);
    const plain: [string, string][] = [["Host", host]];
    if (given !== undefined) plain.push(["Content-Type", "application/json"]);
    const request = { method, target: path, headers: plain, body: Buffer.from(body) };
    const headers = signRequest(request, { accessKey, secretKey }).filter(
      ([name]) => name.toLowerCase() !== "host",
    );
    const answer = await fetch(server.url + path, {
      method,
      headers,
      ...(given !== undefined && { body }),
    });
    return answer.status;
  };
  const registry = "/api/v1/registry";
  expect(await signed("GET", `${registry}/audit`)).toBe(200);
  const roles = { roles: ["registry:admin"] };
  expect(await signed("POST", `${registry}/tokens`, roles)).toBe(403);
  expect(await signed("POST", `${registry}/access-keys`, roles)).toBe(403);
  expect(await signed("POST", `${registry}/access-keys/${accessKey}/rotation`, {})).toBe(403);
  expect((await call("DELETE", `/api/v1/tokens/${id}`)).status).toBe(204);
  expect(await signed("GET", `${registry}/audit`)).toBe(401);
});

it("a token of a service account ends with the token of the admin that made it, and has no more than that", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("boss", { account: "admin" });
  await user("bot", { account: "operator" });
  const { id, token } = await tokenFor("boss");
  const body = { user: "bot", role: "admin" };
  const made = await call("POST", "/api/v1/tokens", { token, body });
  const service = String(made.json["token"]);
  const { json } = await call("GET", "/api/v1/caller", { token: service });
  expect(json["user"]).toBe("bot");
  expect(await statusOf(service, "GET", S)).toBe(200);
  expect(await statusOf(service, "GET", "/api/v1/users")).toBe(403);
  expect((await call("DELETE", `/api/v1/tokens/${id}`)).status).toBe(204);
  expect(await statusOf(service, "GET", S)).toBe(401);
});

it("an admin token that is limited to projects changes and reads nothing of the account", async () => {
  const { call, user, tokenFor, statusOf } = await start();
  await user("boss", { account: "admin" });
  const { token } = await tokenFor("boss", { projects: ["web"] });
  for (const path of ["registry/audit", "registry/namespaces", "debug/krt", "users"]) {
    expect([path, await statusOf(token, "GET", `/api/v1/${path}`)]).toEqual([path, 403]);
  }
  expect(await statusOf(token, "PUT", "/api/v1/registry/namespaces/acme", {})).toBe(403);
  const headers = { "client-request-id": "6e0f5f3a-6b6e-4c0e-8a53-0c1d7a1d2b3c" };
  const body = { provider_name: "cloud" };
  const made = await call("POST", "/v1/private-providers", { token, headers, body });
  expect(made.status).toBe(403);
  expect((await call("GET", "/v1/private-providers", { token, headers })).status).toBe(200);
  expect(await statusOf(token, "GET", S)).toBe(200);
});

it("a token manages no token that may do more, and no session unless it may do all that its user may", async () => {
  const { call, user, tokenFor } = await start();
  await user("bot", { account: "operator" });
  const full = await tokenFor("bot");
  const small = await tokenFor("bot", { role: "viewer", projects: ["web"] });
  const seen = async (token: string) => {
    const { json } = await call("GET", "/api/v1/tokens", { token });
    return (json["tokens"] as { id: string }[]).map(({ id }) => id);
  };
  expect(await seen(small.token)).toEqual([small.id]);
  expect(await seen(full.token)).toEqual([full.id, small.id]);
  const remove = async (token: string, id: string) =>
    (await call("DELETE", `/api/v1/tokens/${id}`, { token })).status;
  expect(await remove(small.token, full.id)).toBe(404);
  expect(await remove(full.token, small.id)).toBe(204);
});

it("limits hold where objects are created at once", { timeout: 30_000 }, async () => {
  const { call } = await start();
  const created = async (count: number, path: string, bodyOf: (at: number) => object) => {
    const all = Array.from({ length: count }, async (_, at) =>
      call("POST", path, { body: bodyOf(at) }),
    );
    return (await Promise.all(all)).filter(({ status }) => status === 201).length;
  };
  const url = "https://siem.invalid/";
  const webhook = (at: number) => ({ name: `w${at}`, url, paused: true });
  expect(await created(12, "/api/v1/audit/webhooks", webhook)).toBe(5);
  const listed = (await call("GET", "/api/v1/audit/webhooks")).json["webhooks"];
  expect(listed).toHaveLength(5);
  // Of variables their bytes are limited, all of which one executor gets.
  const value = "x".repeat(65_536);
  const set = async (at: number) =>
    call("PUT", `${S}/variables/terraform/v${at}`, { body: { value } });
  const answers = await Promise.all(Array.from({ length: 36 }, async (_, at) => set(at)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(32);
  expect(answers.filter(({ status }) => status === 422)).toHaveLength(4);
});

it("a user has at most 200 tokens, however they are made", { timeout: 30_000 }, async () => {
  const { server, call, user, tokenFor } = await start();
  await user("bot", { account: "admin" });
  const given = { account: "default", user: "bot", roles: ["reader"] as const };
  for (let made = 0; made < 200; made += 1) await server.credentials.createToken(given);
  const refused = await call("POST", "/api/v1/tokens", { body: { user: "bot", role: "viewer" } });
  expect([refused.status, refused.json["code"]]).toEqual([422, "unprocessable"]);
  const own = (await server.credentials.list("default")).find((one) => one.user === "bot");
  await server.credentials.revoke(own?.actor ?? "");
  const { token } = await tokenFor("bot");
  for (const path of ["tokens", "access-keys"]) {
    const body = { roles: ["registry:reader"] };
    const more = await call("POST", `/api/v1/registry/${path}`, { token, body });
    expect([path, more.status, more.text]).toEqual([
      path,
      403,
      expect.stringContaining("200 tokens"),
    ]);
  }
  await user("other");
  await tokenFor("other");
});

it("a credential that is limited to projects makes none that is not", async () => {
  const { call, tokenOf } = await startApi("none");
  const token = await tokenOf("admin", ["web"]);
  const make = async (body: object) =>
    (await call("POST", "/api/v1/registry/tokens", { token, body })).status;
  expect(await make({ roles: ["registry:admin"] })).toBe(403);
  expect(await make({ roles: ["registry:reader"], projects: ["net"] })).toBe(403);
  expect(await make({ roles: ["registry:reader"], projects: ["web"] })).toBe(201);
  expect((await call("GET", "/api/v1/users", { token })).status).toBe(403);
});

it("changes and refusals are audited with the user and the token", async () => {
  const { call, user, tokenFor } = await start();
  await user("lead", { web: "admin" });
  const { id, token } = await tokenFor("lead");
  await call("POST", `${P}/stacks`, { token, body: { name: "two" } });
  await call("POST", "/api/v1/users", { token, body: { name: "x" } });
  const entries = (await call("GET", "/api/v1/registry/audit")).json["entries"] as object[];
  const audited = { actor: "user-lead", details: { credential: id } };
  expect(entries).toContainEqual(
    expect.objectContaining({
      ...audited,
      action: "CreateStack",
      target: "projects/web/stacks",
      outcome: "done",
    }),
  );
  expect(entries).toContainEqual(
    expect.objectContaining({ action: "CreateUser", target: "users", outcome: "HTTP_403" }),
  );
  expect(JSON.stringify(entries)).not.toContain(token);
});

it("a team that is deleted while roles are given to it leaves none to another team of its name", async () => {
  const { call } = await start();
  for (let round = 0; round < 10; round += 1) {
    expect((await call("POST", "/api/v1/teams", { body: { name: "ops" } })).status).toBe(201);
    const give = async (path: string) =>
      call("PUT", `${path}/roles/team/ops`, { body: { role: "admin" } });
    const [gone, ...given] = await Promise.all([
      call("DELETE", "/api/v1/teams/ops"),
      ...["/api/v1", P, "/api/v1/projects/net"].map(give),
    ]);
    expect(gone.status).toBe(204);
    for (const { status } of given) expect([200, 404]).toContain(status);
    expect((await call("GET", "/api/v1/roles")).json["roles"]).toEqual([]);
  }
});

it("says what a user may do, by its roles and its teams, before it signs in", async () => {
  const { call, user } = await start();
  await user("ann", { web: "operator" });
  await user("boss", { account: "admin" });
  await user("deputy", { account: "admin" });
  await call("POST", "/api/v1/teams", { body: { name: "ops", groups: [] } });
  await call("PUT", "/api/v1/teams/ops/members/ann");
  await call("PUT", "/api/v1/projects/net/roles/team/ops", { body: { role: "viewer" } });
  const rights = async (name: string) => (await call("GET", `/api/v1/users/${name}/rights`)).json;
  expect(await rights("ann")).toEqual({
    disabled: false,
    teams: ["ops"],
    roles: [],
    projects: expect.arrayContaining([
      { project: "web", roles: ["operator"] },
      { project: "net", roles: ["viewer"] },
    ]),
  });
  expect(await rights("boss")).toMatchObject({ roles: ["admin"], projects: [] });
  await call("PATCH", "/api/v1/users/boss", { body: { disabled: true } });
  expect(await rights("boss")).toMatchObject({ disabled: true });
  expect((await call("GET", "/api/v1/users/nobody/rights")).status).toBe(404);
});

it("the last administrator stays one, whatever would take the role away", async () => {
  const { call, user } = await start();
  await user("ann", { account: "admin", web: "admin" });
  await user("bob", { account: "operator" });
  const refused = async (method: string, path: string, body?: object) => {
    const { status, json } = await call(method, `/api/v1${path}`, { body });
    expect([path, status, json["code"]]).toEqual([path, 409, "last_administrator"]);
  };
  const done = async (method: string, path: string, body?: object) =>
    expect([path, (await call(method, `/api/v1${path}`, { body })).status]).toEqual([
      path,
      method === "DELETE" && !path.includes("/members/") ? 204 : expect.toBeOneOf([200, 201]),
    ]);
  await refused("DELETE", "/roles/user/ann");
  await refused("PUT", "/roles/user/ann", { role: "operator" });
  await refused("PATCH", "/users/ann", { disabled: true });
  await done("DELETE", "/projects/web/roles/user/ann");
  await done("PUT", "/roles/user/ann", { role: "admin" });
  // By a team, whose members and groups count.
  await done("POST", "/teams", { name: "admins" });
  await done("PUT", "/roles/team/admins", { role: "admin" });
  await done("PUT", "/teams/admins/members/bob");
  await done("DELETE", "/roles/user/ann");
  await refused("DELETE", "/teams/admins/members/bob");
  await refused("DELETE", "/teams/admins");
  await refused("DELETE", "/roles/team/admins");
  await refused("PATCH", "/users/bob", { disabled: true });
  await done("PUT", "/teams/admins/members/ann");
  await done("DELETE", "/teams/admins/members/bob");
  // One that is disabled is none.
  await done("PUT", "/roles/user/bob", { role: "admin" });
  await done("PATCH", "/users/bob", { disabled: true });
  await refused("DELETE", "/teams/admins");
  await done("PATCH", "/users/bob", { disabled: false });
  await done("DELETE", "/teams/admins");
  expect((await call("GET", "/api/v1/users/bob/rights")).json["roles"]).toEqual(["admin"]);
});

it("of two administrators who remove each other at the same time one stays", async () => {
  const { call, user, tokenFor } = await start();
  for (const way of ["role", "disabled"]) {
    const names = [`ann-${way}`, `bob-${way}`] as const;
    for (const name of names) await user(name, { account: "admin" });
    if (way === "disabled") {
      for (const { subject } of (await call("GET", "/api/v1/roles")).json["roles"] as {
        subject: string;
      }[]) {
        if (!names.some((name) => name === subject))
          await call("DELETE", `/api/v1/roles/user/${subject}`);
      }
    }
    const tokens = await Promise.all(names.map(async (name) => tokenFor(name)));
    const ends = await Promise.all(
      names.map(async (_, at) => {
        const other = names[1 - at];
        const { token } = tokens[at] as { token: string };
        return way === "role"
          ? call("DELETE", `/api/v1/roles/user/${other}`, { token })
          : call("PATCH", `/api/v1/users/${other}`, { token, body: { disabled: true } });
      }),
    );
    const left = (await call("GET", "/api/v1/roles")).json["roles"] as { subject: string }[];
    const users = (await call("GET", "/api/v1/users")).json["users"] as {
      name: string;
      disabled: boolean;
    }[];
    const admins = left.filter(({ subject }) =>
      users.some(({ name, disabled }) => name === subject && !disabled),
    );
    expect(admins).toHaveLength(1);
    // The one who was removed first is refused by the role that is gone, or by being the last.
    expect(ends.filter(({ status }) => status < 300)).toHaveLength(1);
  }
});
