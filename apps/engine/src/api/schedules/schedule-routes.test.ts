import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

const SCHEDULES = `${S}/schedules`;
const NIGHTLY = { cron: "0 3 * * *", zone: "Europe/Berlin", mode: "plan_only" };

async function start(executor?: "none") {
  const api = await startApi(executor);
  const { call } = api;
  expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  const create = async (body: object, token?: string) => call("POST", SCHEDULES, { body, token });
  return { ...api, create };
}

it("a schedule is created, shown, changed, paused and deleted", async () => {
  const { call, create } = await start("none");
  const made = await create({ ...NIGHTLY, message: "drift" });
  expect(made).toMatchObject({
    status: 201,
    json: { ...NIGHTLY, message: "drift", paused: false },
  });
  const next = String(made.json["next_at"]);
  expect(Date.parse(next)).toBeGreaterThan(Date.now());
  expect(next).toMatch(/T0[12]:00:00/);
  const path = `${SCHEDULES}/${String(made.json["id"])}`;
  expect(made.headers.get("location")).toBe(path);
  const shown = await call("GET", path);
  expect(shown.json).toEqual(made.json);
  expect((await call("GET", SCHEDULES)).json).toEqual({ schedules: [made.json] });

  const etag = shown.headers.get("etag") ?? "";
  expect((await call("PATCH", path, { body: { paused: true } })).status).toBe(428);
  const stale = { "if-match": '"x"' };
  expect((await call("PATCH", path, { body: { paused: true }, headers: stale })).status).toBe(412);
  const headers = { "if-match": etag };
  const paused = await call("PATCH", path, { body: { paused: true }, headers });
  expect(paused).toMatchObject({ status: 200, json: { paused: true } });
  expect(paused.json).not.toHaveProperty("next_at");
  const any = { "if-match": "*" };
  const moved = { paused: false, cron: "30 4 * * *", zone: "UTC" };
  const changed = await call("PATCH", path, { body: moved, headers: any });
  expect(changed.json).toMatchObject(moved);
  expect(String(changed.json["next_at"])).toMatch(/T04:30:00/);
  expect((await call("DELETE", path, { headers: any })).status).toBe(204);
  expect((await call("GET", path)).json["code"]).toBe("not_found");
});

it.each([
  [{ mode: "apply" }, "either cron or at"],
  [{ ...NIGHTLY, at: "2099-01-01T00:00:00Z" }, "either cron or at"],
  [{ ...NIGHTLY, cron: "* * * * *" }, "at least 5 minutes"],
  [{ ...NIGHTLY, zone: "Nope" }, "not a valid time zone"],
  [{ mode: "destroy", at: "2020-01-01T00:00:00Z" }, "has passed"],
  [{ mode: "destroy", at: "2099-01-01T00:00:00Z" }, "400 days"],
  [{ mode: "destroy", at: "tomorrow" }, "not a valid time with an offset"],
  [{ mode: "destroy", at: "2027-01-01T00:00:00" }, "not a valid time with an offset"],
  [{ ...NIGHTLY, mode: "nothing" }, "mode"],
])("refuses %j", async (body, message) => {
  const { create } = await start("none");
  const refused = await create(body);
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_request" } });
  expect(JSON.stringify(refused.json)).toContain(message);
});

it("a stack has twenty at most, also when they are created at once", async () => {
  const { create } = await start("none");
  const made = await Promise.all(Array.from({ length: 23 }, async () => create(NIGHTLY)));
  expect(made.filter(({ status }) => status === 201)).toHaveLength(20);
  expect(made.filter(({ status }) => status === 422)).toHaveLength(3);
});

it("a project that applies no plan without an approval takes no schedule that does, and lets none continue", async () => {
  const { call, create } = await start("none");
  const rule = async (auto_apply: string) => {
    const headers = { "if-match": "*" };
    const body = { auto_apply };
    expect((await call("PATCH", P, { headers, body })).status).toBe(200);
  };
  await call("POST", "/api/v1/projects", { body: { name: "web", auto_apply: "never" } });
  const forbidden = { status: 422, json: { code: "unprocessable" } };
  const refused = await create({ ...NIGHTLY, mode: "apply", auto_apply: true });
  expect(refused).toMatchObject(forbidden);
  expect(refused.json["detail"]).toBe(
    "plans of the project web are applied after an approval only; create the schedule without auto_apply",
  );
  expect((await create({ ...NIGHTLY, mode: "apply", auto_apply: false })).status).toBe(201);

  await rule("on_request");
  const made = await create({ ...NIGHTLY, mode: "apply", auto_apply: true });
  expect(made.status).toBe(201);
  await rule("never");
  // The rule became stricter later: what is there may be read, changed and paused, and does not continue.
  const path = `${SCHEDULES}/${String(made.json["id"])}`;
  const change = async (body: object) =>
    call("PATCH", path, { body, headers: { "if-match": "*" } });
  expect((await change({ message: "later" })).status).toBe(200);
  expect((await change({ paused: true })).status).toBe(200);
  expect(await change({ paused: false })).toMatchObject(forbidden);
  await rule("on_request");
  expect((await change({ paused: false })).status).toBe(200);
});

it("readers see schedules and write none", async () => {
  const { call, create, tokenOf } = await start("none");
  const viewer = await tokenOf("reader");
  const made = await create(NIGHTLY);
  expect((await create(NIGHTLY, viewer)).json["code"]).toBe("forbidden");
  const path = `${SCHEDULES}/${String(made.json["id"])}`;
  expect((await call("GET", path, { token: viewer })).status).toBe(200);
  const headers = { "if-match": "*" };
  expect((await call("DELETE", path, { token: viewer, headers })).status).toBe(403);
});

it("a server requests the run of a schedule, of what was applied last", {
  timeout: 90_000,
}, async () => {
  const { call, create, upload } = await start();
  const { digest } = (await upload()).json;
  const body = { configuration: digest, auto_apply: true };
  const first = await call("POST", `${S}/runs`, { body });
  const phase = async (run: unknown) =>
    (await call("GET", `${S}/runs/${String(run)}`)).json["phase"];
  await expect.poll(async () => phase(first.json["id"]), { timeout: 30_000 }).toBe("applied");
  const at = new Date(Date.now() + 1_500).toISOString();
  const made = await create({ at, mode: "plan_only", message: "drift" });
  const path = `${SCHEDULES}/${String(made.json["id"])}`;
  const lastRun = async () => (await call("GET", path)).json["last_run"];
  await expect.poll(lastRun, { timeout: 40_000, interval: 200 }).toBeTypeOf("string");
  const run = await call("GET", `${S}/runs/${String(await lastRun())}`);
  expect(run.json).toMatchObject({
    configuration: digest,
    message: "drift",
    cause: `schedule:${String(made.json["id"])}@${at}`,
    actor: made.json["actor"],
  });
  await expect.poll(async () => phase(run.json["id"]), { timeout: 30_000 }).toBe("no_changes");
  expect((await call("GET", path)).json).not.toHaveProperty("next_at");
});
