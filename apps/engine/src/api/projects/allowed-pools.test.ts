import { expect, it } from "vitest";
import { startApi } from "../../testing/start-api.ts";

/** A project with settings, and one who administers it but not the account. */
async function start(role: Readonly<Record<string, string>> = {}) {
  const { call } = await startApi("none");
  await call("POST", "/api/v1/projects", { body: { name: "web" } });
  await call("POST", "/api/v1/users", { body: { name: "lead", service: true } });
  const give = async (path: string, body: object) =>
    call("PUT", `/api/v1/${path}roles/user/lead`, { body });
  expect((await give("projects/web/", { role: "admin" })).status).toBe(200);
  for (const given of Object.values(role)) await give("", { role: given });
  const made = await call("POST", "/api/v1/tokens", { body: { user: "lead", role: "admin" } });
  const { token } = made.json as { readonly token: string };
  const change = async (pools: object, given: { readonly token?: string } = {}) =>
    call("PATCH", "/api/v1/projects/web", {
      ...given,
      body: { pools },
      headers: { "if-match": "*" },
    });
  const shown = async () => (await call("GET", "/api/v1/projects/web")).json["pools"];
  return { call, change, shown, lead: { token } };
}

it.each([
  ["of the project alone", {}],
  ["who reads the whole account, too", { account: "viewer" }],
])(
  "an administrator %s chooses among the pools that the project has, and adds none",
  async (_, role) => {
    const { change, shown, lead } = await start(role);
    const refused = await change([{ pool: "prod" }], lead);
    expect(refused).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect(refused.json["detail"]).toContain('is not allowed to use the pool "prod"');
    expect(await shown()).toEqual([]);
    const pools = [{ pool: "lab", stacks: ["lab-*"] }, { pool: "inside" }];
    expect((await change(pools)).status).toBe(200);
    expect((await change([...pools, { pool: "prod" }], lead)).status).toBe(403);
    expect(await shown()).toEqual(pools);
    const chosen = [{ pool: "default", stacks: ["small"] }, { pool: "inside" }];
    expect((await change(chosen, lead)).status).toBe(200);
    expect(await shown()).toEqual(chosen);
    // What it has given up, it does not take back.
    expect((await change(pools, lead)).status).toBe(403);
  },
);

it("no project begins with pools that its own administrator has named", async () => {
  const { call } = await start();
  const given = { roles: ["admin"], projects: ["shop", "store"] };
  const made = await call("POST", "/api/v1/registry/tokens", { body: given });
  const { token } = made.json as { readonly token: string };
  const create = async (body: object, as = {}) =>
    (await call("POST", "/api/v1/projects", { ...as, body })).status;
  const pools = [{ pool: "prod" }];
  expect(await create({ name: "shop", pools }, { token })).toBe(403);
  expect(await create({ name: "shop" }, { token })).toBe(201);
  expect(await create({ name: "store", pools })).toBe(201);
  // One of stacks alone has no settings yet.
  await call("POST", "/api/v1/projects/stacks-only/stacks", { body: { name: "one" } });
  const path = "/api/v1/projects/stacks-only";
  expect((await call("PATCH", path, { body: { pools } })).status).toBe(200);
});
