import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const DRIFT = `${S}/drift`;
const RULE = { every_minutes: 60, reaction: "plan" };

async function start(executor?: "none") {
  const api = await startApi(executor);
  expect((await api.call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  return api;
}

it("a stack has the rule of its project, or one of its own", async () => {
  const { call, first } = await start("none");
  expect((await call("GET", DRIFT)).json).toEqual({ changed: 0, deleted: 0, objects: [] });
  const project = { every_minutes: 1440, reaction: "report", paused: false, parts: [] };
  const settings = await call("PATCH", P, { body: { drift: { every_minutes: 1440 } } });
  expect(settings).toMatchObject({ status: 200, json: { drift: project } });
  expect((await call("GET", DRIFT)).json["rule"]).toEqual({ ...project, from: "project" });
  const own = await call("PUT", DRIFT, { body: RULE });
  expect(own).toMatchObject({ status: 200, json: { rule: { ...RULE, from: "stack" } } });
  const next = Date.parse(String(own.json["next_at"])) - Date.now();
  expect(next).toBeGreaterThan(0);
  expect(next).toBeLessThanOrEqual(3_600_000);
  expect(first.token).not.toBe("");
  expect((await call("DELETE", DRIFT)).status).toBe(204);
  expect((await call("GET", DRIFT)).json["rule"]).toEqual({ ...project, from: "project" });
  expect((await call("DELETE", DRIFT)).json["code"]).toBe("not_found");
});

it.each([
  [{ every_minutes: 1 }, "every_minutes"],
  [{ every_minutes: 1e9 }, "every_minutes"],
  [{ reaction: "report" }, "every_minutes"],
  [{ ...RULE, reaction: "destroy" }, "reaction"],
  [{ ...RULE, zone: "UTC" }, "zone"],
  [{ ...RULE, parts: [{ types: [], every_minutes: 5 }] }, "types"],
  [{ ...RULE, parts: [{ types: ["aws iam"], every_minutes: 5 }] }, "types"],
  [{ ...RULE, parts: [{ types: ["*"], every_minutes: 1 }] }, "every_minutes"],
])("refuses the rule %j", async (body, message) => {
  const { call } = await start("none");
  const refused = await call("PUT", DRIFT, { body });
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_request" } });
  expect(JSON.stringify(refused.json)).toContain(message);
});

it.each(["repair", "accept"])(
  "a project that wants approvals refuses the reaction %s",
  async (reaction) => {
    const { call } = await start("none");
    await call("PATCH", P, { body: { auto_apply: "never" } });
    const refused = await call("PUT", DRIFT, { body: { ...RULE, reaction } });
    expect(refused).toMatchObject({ status: 422, json: { code: "unprocessable" } });
    expect(refused.json["detail"]).toContain('use the reaction "plan"');
  },
);

it("a check needs something that was applied", async () => {
  const { call } = await start("none");
  const refused = await call("POST", `${DRIFT}/check`);
  expect(refused).toMatchObject({ status: 422 });
  expect(refused.json["detail"]).toContain("nothing was applied");
});

it("a check without drift says when it was made; other projects see nothing of it", {
  timeout: 90_000,
}, async () => {
  const { call, upload, tokenOf } = await start();
  const { digest } = (await upload()).json;
  const body = { configuration: digest, auto_apply: true };
  const made = await call("POST", `${S}/runs`, { body });
  const phase = async (run: unknown) =>
    (await call("GET", `${S}/runs/${String(run)}`)).json["phase"];
  await expect.poll(async () => phase(made.json["id"]), { timeout: 30_000 }).toBe("applied");
  const check = await call("POST", `${DRIFT}/check`);
  expect(check).toMatchObject({ status: 201, json: { mode: "refresh_only" } });
  await expect.poll(async () => phase(check.json["id"]), { timeout: 30_000 }).toBe("no_changes");
  const shown = (await call("GET", DRIFT)).json;
  expect(shown).toMatchObject({ run: check.json["id"], changed: 0, deleted: 0, objects: [] });
  expect(shown["checked_at"]).toBeTypeOf("string");
  const list = { status: 200, json: { stacks: [], total: 0, checked: 1 } };
  await expect.poll(async () => call("GET", "/api/v1/drift")).toMatchObject(list);
  const elsewhere = await tokenOf("reader", ["other"]);
  const seen = await call("GET", "/api/v1/drift", { token: elsewhere });
  expect(seen.json).toMatchObject({ stacks: [], checked: 0 });
});

it("differences are ignored for a reason and a time, by deployers, with an entry in the audit trail", async () => {
  const { call, tokenOf } = await start("none");
  const day = 86_400;
  const body = { address: "lab_object.a", reason: "by hand", expires_in_seconds: day };
  const planner = await tokenOf("planner");
  const refused = await call("POST", `${DRIFT}/ignores`, { body, token: planner });
  expect(refused.json["code"]).toBe("forbidden");
  for (const wrong of [{ reason: "" }, { expires_in_seconds: 0 }, { expires_in_seconds: 1e9 }]) {
    const answer = await call("POST", `${DRIFT}/ignores`, { body: { ...body, ...wrong } });
    expect(answer.json["code"]).toBe("invalid_request");
  }
  const made = await call("POST", `${DRIFT}/ignores`, { body: { ...body, attribute: "size" } });
  const { id, at, until } = made.json;
  expect(made).toMatchObject({ status: 201, json: { address: "lab_object.a", attribute: "size" } });
  expect(Date.parse(String(until)) - Date.parse(String(at))).toBe(day * 1_000);
  expect((await call("GET", DRIFT)).json["ignores"]).toEqual([made.json]);
  expect((await call("DELETE", `${DRIFT}/ignores/${String(id)}`)).status).toBe(204);
  expect((await call("DELETE", `${DRIFT}/ignores/${String(id)}`)).status).toBe(404);
  expect((await call("GET", DRIFT)).json).not.toHaveProperty("ignores");
  const several = {
    differences: [{ address: "lab_object.a", attribute: "size" }, { address: "lab_object.b" }],
    reason: "by hand",
    expires_in_seconds: day,
  };
  const path = `${DRIFT}/ignores/several`;
  const denied = await call("POST", path, { body: several, token: planner });
  expect(denied.json["code"]).toBe("forbidden");
  const none = await call("POST", path, { body: { ...several, differences: [] } });
  expect(none.json["code"]).toBe("invalid_request");
  const both = await call("POST", path, { body: several });
  expect(both).toMatchObject({ status: 201, json: { ignores: several.differences } });
  expect((await call("GET", DRIFT)).json["ignores"]).toEqual(both.json["ignores"]);
  const audit = await call("GET", "/api/v1/audit");
  expect(audit.text).toContain('"IgnoreDrift"');
  expect(audit.text).toContain('"IgnoreDriftOfSeveral"');
  expect(audit.text).toContain('"HeedDrift"');
});

it("a check by a planner is one from which nothing follows, and one by an operator is not", {
  timeout: 120_000,
}, async () => {
  const { call, upload, tokenOf } = await startApi("in-process");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": 'output "x" { value = 1 }\n' })).json;
  const ended = async (run: unknown) =>
    expect
      .poll(async () => (await call("GET", `${S}/runs/${String(run)}`)).json["phase"], {
        timeout: 60_000,
      })
      .toMatch(/^(?:applied|no_changes|plan_finished)$/);
  const body = { configuration: digest, auto_apply: true };
  await ended((await call("POST", `${S}/runs`, { body })).json["id"]);
  const checkBy = async (role: "planner" | "deployer") => {
    const made = await call("POST", `${DRIFT}/check`, { token: await tokenOf(role) });
    expect(made.status).toBe(201);
    await ended(made.json["id"]);
    return made.json["cause"];
  };
  expect(await checkBy("planner")).toMatch(/^drift-check:report:\d{4}-/);
  expect(await checkBy("deployer")).toMatch(/^drift-check:\d{4}-/);
});
