import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

type Api = Awaited<ReturnType<typeof startApi>>;

async function applied({ call, upload }: Api): Promise<void> {
  expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  const { digest } = (await upload()).json;
  const body = { configuration: digest, auto_apply: true };
  const run = `${S}/runs/${String((await call("POST", `${S}/runs`, { body })).json["id"])}`;
  await expect
    .poll(async () => (await call("GET", run)).json["phase"], { timeout: 20_000 })
    .toBe("applied");
}

it("a stack is deleted once it has no objects, or by force, and its name is free at once", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call, tokenOf } = api;
  await applied(api);
  const operator = await tokenOf("deployer");
  expect((await call("DELETE", S, { token: operator })).json["code"]).toBe("forbidden");
  const stranger = await tokenOf("admin", ["other"]);
  expect((await call("DELETE", S, { token: stranger })).status).toBe(404);
  const full = await call("DELETE", S);
  expect([full.status, full.json["code"]]).toEqual([409, "not_empty"]);
  expect(full.json["detail"]).toContain("force");
  const { id } = (await call("GET", S)).json;
  const forced = await call("DELETE", `${S}?force=true`);
  expect([forced.status, forced.json["id"]]).toEqual([202, id]);
  for (const path of [S, `${S}/runs`, `${S}/state`, `${S}/variables`]) {
    expect((await call("GET", path)).status).toBe(404);
  }
  expect((await call("DELETE", S)).status).toBe(404);
  const again = await call("POST", `${P}/stacks`, { body: { name: "one" } });
  expect([again.status, again.json["id"] === id]).toEqual([201, false]);
  expect((await call("GET", `${S}/runs`)).json["runs"]).toEqual([]);
  expect((await call("DELETE", S)).status).toBe(202);
  const audit = await call("GET", "/api/v1/audit");
  expect(audit.text).toContain('"DeleteStack"');
});

it("a stack with a lock or a run under way is not deleted, not even by force", async () => {
  const { call, upload } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await call("PUT", `${S}/lock`, { body: { reason: "a migration" } });
  const locked = await call("DELETE", `${S}?force=true`);
  expect([locked.status, locked.json["code"]]).toEqual([409, "stack_locked"]);
  await call("DELETE", `${S}/lock`);
  const { digest } = (await upload()).json;
  const run = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const busy = await call("DELETE", `${S}?force=true`);
  expect([busy.status, busy.json["code"]]).toEqual([409, "conflict"]);
  expect(busy.json["detail"]).toContain("run of the stack");
  await call("POST", `${S}/runs/${String(run.json["id"])}/cancel`, { body: {} });
  expect((await call("DELETE", S)).status).toBe(202);
});
