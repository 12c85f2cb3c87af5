import { expect, it } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

type Api = Awaited<ReturnType<typeof startApi>>;

async function prepare(api: Api, settings: object) {
  const { call, upload } = api;
  const made = await call("POST", "/api/v1/projects", { body: { name: "web", ...settings } });
  expect(made.status).toBe(201);
  expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
  const { digest } = (await upload()).json;
  const request = async (options: object = {}, token?: string) =>
    call("POST", `${S}/runs`, { body: { configuration: digest, ...options }, token });
  const phase = async (run: unknown) =>
    String((await call("GET", `${S}/runs/${String(run)}`)).json["phase"]);
  const reaches = async (run: unknown, wanted: string) =>
    expect.poll(async () => phase(run), { timeout: 20_000 }).toBe(wanted);
  return { etag: made.headers.get("etag") ?? "", request, phase, reaches };
}

it("a plan is applied when n of m others have approved its digest", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call, tokenOf, server } = api;
  const three = await Promise.all(
    [1, 2, 3].map(async () =>
      server.credentials.createToken({ account: "default", roles: ["deployer"], projects: [] }),
    ),
  );
  const [ann, bea, cleo] = three.map(({ token }) => token);
  const approvers = three.map(({ tokenId }) => tokenId);
  const rule = { required_approvals: 2, exclude_author: true, approvers, auto_apply: "never" };
  const { request, reaches, phase } = await prepare(api, rule);
  const forced = await request({ auto_apply: true }, ann);
  expect([forced.status, forced.json["code"]]).toEqual([422, "unprocessable"]);
  const made = await request({}, ann);
  const run = `${S}/runs/${String(made.json["id"])}`;
  expect(made.json).toMatchObject({ required_approvals: 2, exclude_author: true, approvers });
  await reaches(made.json["id"], "awaiting_approval");
  const { digest } = (await call("GET", `${run}/plan`)).json;
  const approve = async (token: string | undefined) =>
    call("POST", `${run}/approvals`, { body: { plan_digest: digest }, token });
  expect((await approve(ann)).json["code"]).toBe("self_approval");
  expect((await approve(await tokenOf("deployer"))).json["code"]).toBe("forbidden");
  for (let times = 0; times < 3; times += 1) expect((await approve(bea)).status).toBe(201);
  expect(await phase(made.json["id"])).toBe("awaiting_approval");
  expect((await approve(cleo)).status).toBe(201);
  await reaches(made.json["id"], "applied");
});

it("a run says until when its plan can be approved, and how long each approval counts", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call } = api;
  const times = { approval_wait_seconds: 600, approval_valid_seconds: 1_200 };
  const { request, reaches, etag } = await prepare(api, { required_approvals: 2, ...times });
  const change = async (body: object) => call("PATCH", P, { body, headers: { "if-match": etag } });
  for (const seconds of [299, 90 * 86_400 + 1]) {
    expect((await change({ approval_wait_seconds: seconds })).status).toBe(400);
    expect((await change({ approval_valid_seconds: seconds })).status).toBe(400);
  }
  const made = await request();
  expect(made.json["approval_expires_at"]).toBeUndefined();
  const run = `${S}/runs/${String(made.json["id"])}`;
  await reaches(made.json["id"], "awaiting_approval");
  const { json } = await call("GET", run);
  const waits =
    Date.parse(String(json["approval_expires_at"])) - Date.parse(String(json["updated_at"]));
  expect(Math.abs(waits - 600_000)).toBeLessThan(60_000);
  const { digest } = (await call("GET", `${run}/plan`)).json;
  await call("POST", `${run}/approvals`, { body: { plan_digest: digest } });
  const [approval] = (await call("GET", run)).json["approvals"] as {
    at: string;
    expires_at: string;
  }[];
  expect(Date.parse(approval?.expires_at ?? "") - Date.parse(approval?.at ?? "")).toBe(1_200_000);
  expect((await call("GET", P)).json).toMatchObject(times);
});

it("a project with stacks exists for If-Match: * before it has settings, and one with neither does not", async () => {
  const { call } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const change = async (path: string, match: string) =>
    call("PATCH", path, { body: { auto_apply: "never" }, headers: { "if-match": match } });
  expect((await call("GET", P)).headers.get("etag")).toBeNull();
  expect((await change(P, '"x"')).status).toBe(412);
  const changed = await change(P, "*");
  expect(changed.status, changed.text).toBe(200);
  expect(changed.json).toMatchObject({ auto_apply: "never" });
  expect((await call("GET", P)).headers.get("etag")).toBe(changed.headers.get("etag"));
  for (const match of ["*", '"x"']) {
    expect((await change("/api/v1/projects/other", match)).status).toBe(404);
  }
});

it("settings change for those who have seen them, and plans follow them", async () => {
  const api = await startApi("none");
  const { call, tokenOf } = api;
  const { etag } = await prepare(api, { auto_apply: "always", display_name: "Web" });
  const path = "/api/v1/projects/web";
  const change = async (body: object, headers = {}) => call("PATCH", path, { body, headers });
  expect((await change({ auto_apply: "never" })).status).toBe(428);
  expect((await change({ auto_apply: "never" }, { "if-match": '"x"' })).status).toBe(412);
  const changed = await change({ auto_apply: "never" }, { "if-match": etag });
  expect(changed.json).toMatchObject({ auto_apply: "never", display_name: "Web" });
  expect((await call("GET", path)).headers.get("etag")).toBe(changed.headers.get("etag"));
  expect((await call("PATCH", path, { body: {}, token: await tokenOf("deployer") })).status).toBe(
    403,
  );
  const any = { "if-match": "*" };
  expect((await call("DELETE", path, { headers: any })).json["code"]).toBe("not_empty");
  const other = { name: "other" };
  expect((await call("POST", "/api/v1/projects", { body: other })).status).toBe(201);
  expect((await call("POST", "/api/v1/projects", { body: other })).json["code"]).toBe("name_taken");
  expect((await call("DELETE", "/api/v1/projects/other", { headers: any })).status).toBe(204);
  expect((await call("GET", "/api/v1/projects/other")).status).toBe(404);
  const limited = await tokenOf("admin", ["web"]);
  expect((await call("POST", "/api/v1/projects", { body: other, token: limited })).status).toBe(
    403,
  );
});

it("a run that did not ask to be applied has the rule of the moment of its plan", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call } = api;
  const { etag, request, reaches } = await prepare(api, { auto_apply: "always" });
  await call("PUT", `${S}/lock`, { body: { reason: "the rule changes" } });
  const waits = await request();
  expect(waits.json["auto_apply"]).toBe(true);
  const rule = { auto_apply: "on_request", required_approvals: 2 };
  const headers = { "if-match": etag };
  expect((await call("PATCH", "/api/v1/projects/web", { body: rule, headers })).status).toBe(200);
  await call("DELETE", `${S}/lock`);
  const { id } = waits.json;
  await expect
    .poll(async () => (await call("GET", `${S}/runs/${String(id)}`)).json["phase"], {
      timeout: 20_000,
    })
    .toMatch(/^(?:awaiting_approval|applied)$/);
  const shown = await call("GET", `${S}/runs/${String(id)}`);
  expect(shown.json).toMatchObject({ phase: "awaiting_approval", auto_apply: false });
  await call("POST", `${S}/runs/${String(id)}/discard`, { body: {} });
  const again = await call("POST", `${S}/runs/${String(id)}/retry`, { body: {} });
  expect([again.status, again.json["auto_apply"]]).toEqual([201, false]);
  await reaches(again.json["id"], "awaiting_approval");
});

it("a run that was to be applied is requested again also where no plan is applied without approval", {
  timeout: 60_000,
}, async () => {
  const api = await startApi("none");
  const { call } = api;
  const { etag, request } = await prepare(api, {});
  const { id } = (await request({ auto_apply: true })).json;
  const run = `${S}/runs/${String(id)}`;
  await call("POST", `${run}/cancel`, { body: {} });
  const headers = { "if-match": etag };
  await call("PATCH", "/api/v1/projects/web", { body: { auto_apply: "never" }, headers });
  expect((await call("POST", `${run}/retry`, { body: {} })).json["code"]).toBe("unprocessable");
  const again = await call("POST", `${run}/retry`, { body: { auto_apply: false } });
  expect([again.status, again.json["auto_apply"]]).toEqual([201, false]);
});

it.each([{ required_approvals: 2 }, { exclude_author: true }, { approvers: ["token:x"] }])(
  "a run cannot pass by the rule %j by requesting its apply",
  async (rule) => {
    const { request } = await prepare(await startApi("none"), rule);
    const refused = await request({ auto_apply: true });
    expect([refused.status, refused.json["code"]]).toEqual([422, "unprocessable"]);
    expect((await request({})).status).toBe(201);
  },
);

it("a newer run ends those that wait, by the policy of the project", {
  timeout: 60_000,
}, async () => {
  const api = await startApi("none");
  const { request, phase } = await prepare(api, { supersede: "pending" });
  const runs = [];
  for (let count = 0; count < 4; count += 1) runs.push((await request()).json["id"]);
  // The first holds the place of the stack: it may be planned at any moment.
  expect(await Promise.all(runs.map(phase))).toEqual([
    "queued",
    "superseded",
    "superseded",
    "queued",
  ]);
  const shown = await api.call("GET", `${S}/runs/${String(runs[1])}`);
  expect(shown.json["superseded_by"]).toBe(runs[2]);
  const other = await startApi();
  const planned = await prepare(other, { supersede: "unapproved" });
  const first = (await planned.request()).json["id"];
  await planned.reaches(first, "awaiting_approval");
  const second = (await planned.request()).json["id"];
  await planned.reaches(second, "awaiting_approval");
  expect(await planned.phase(first)).toBe("superseded");
});

it("an ended run is requested again; one that applied all is not", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call } = api;
  const { request, reaches } = await prepare(api, {});
  const id = (await request({ targets: ["terraform_data.a"], message: "first" })).json["id"];
  const run = `${S}/runs/${String(id)}`;
  await reaches(id, "awaiting_approval");
  expect((await call("POST", `${run}/retry`, { body: {} })).json["code"]).toBe(
    "illegal_transition",
  );
  await call("POST", `${run}/discard`, { body: {} });
  const headers = { "idempotency-key": "again" };
  const again = await call("POST", `${run}/retry`, { body: {}, headers });
  expect(again.json).toMatchObject({ retry_of: id, message: "first", mode: "apply" });
  expect(again.headers.get("location")).toBe(`${S}/runs/${String(again.json["id"])}`);
  expect((await call("POST", `${run}/retry`, { body: {}, headers })).text).toBe(again.text);
  await reaches(again.json["id"], "awaiting_approval");
  const next = `${S}/runs/${String(again.json["id"])}`;
  const { digest } = (await call("GET", `${next}/plan`)).json;
  await call("POST", `${next}/approvals`, { body: { plan_digest: digest } });
  await reaches(again.json["id"], "applied");
  expect((await call("POST", `${next}/retry`, { body: {} })).status).toBe(409);
  for (const mode of ["destroy", "refresh_only", "plan_only"] as const) {
    const made = (await request({ mode, auto_apply: mode !== "plan_only" })).json["id"];
    await expect
      .poll(async () => (await call("GET", `${S}/runs/${String(made)}`)).json["phase"], {
        timeout: 20_000,
      })
      .toMatch(/^(?:applied|no_changes|plan_finished)$/);
  }
});

it("runs of a locked stack wait, and begin when the lock is over", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call, tokenOf } = api;
  const { request, phase, reaches } = await prepare(api, {});
  const lock = `${S}/lock`;
  expect((await call("GET", lock)).status).toBe(404);
  const put = async (body: object, token?: string) => call("PUT", lock, { body, token });
  expect((await put({ reason: "" })).status).toBe(400);
  const made = await put({ reason: "the database moves", expires_in_seconds: 3_600 });
  expect(made.status).toBe(201);
  expect(made.json).toMatchObject({ reason: "the database moves" });
  const other = await tokenOf("deployer");
  expect((await put({ reason: "mine" }, other)).json["code"]).toBe("stack_locked");
  expect((await call("DELETE", lock, { token: other })).json["code"]).toBe("stack_locked");
  expect((await call("DELETE", `${lock}?force=true`, { token: other })).status).toBe(403);
  const waits = (await request()).json["id"];
  const plans = (await request({ mode: "plan_only" })).json["id"];
  await reaches(plans, "plan_finished");
  expect(await phase(waits)).toBe("queued");
  // The owner replaces it by one that is over soon.
  expect((await put({ reason: "soon", expires_in_seconds: 1 })).status).toBe(200);
  await reaches(waits, "awaiting_approval");
  expect((await call("GET", lock)).status).toBe(404);
  await put({ reason: "again" }, other);
  expect((await call("DELETE", `${lock}?force=true`)).status).toBe(204);
});

it("runs of a frozen project or stack are planned, and applied when an administrator says so or it is over", {
  timeout: 60_000,
}, async () => {
  const api = await startApi();
  const { call, tokenOf } = api;
  const { request, phase, reaches } = await prepare(api, {});
  const operator = await tokenOf("deployer");
  const body = { reason: "audit" };
  for (const path of [`${P}/freeze`, `${S}/freeze`]) {
    expect((await call("GET", path)).status).toBe(404);
    expect((await call("PUT", path, { body, token: operator })).status).toBe(403);
    expect((await call("PUT", path, { body: { reason: "" } })).status).toBe(400);
    expect((await call("PUT", path, { body })).status).toBe(201);
    expect((await call("PUT", path, { body })).status).toBe(200);
    expect((await call("GET", path)).json).toMatchObject({ reason: "audit" });
  }
  // What is frozen says so itself: whether it is, is no question that fails.
  for (const path of [P, S]) {
    expect((await call("GET", path)).json).toMatchObject({ freeze: { reason: "audit" } });
  }
  const passing = (await request({ auto_apply: true })).json["id"];
  await reaches(passing, "approved");
  const override = `${S}/runs/${String(passing)}/freeze-override`;
  expect((await call("POST", override, { body, token: operator })).status).toBe(403);
  const given = await call("POST", override, { body: { reason: "hot fix" } });
  expect(given.json).toMatchObject({ freeze_override: { reason: "hot fix" } });
  await reaches(passing, "applied");
  expect((await call("POST", override, { body })).json["code"]).toBe("run_ended");
  const waits = (await request({ mode: "destroy", auto_apply: true })).json["id"];
  await reaches(waits, "approved");
  expect((await call("DELETE", `${S}/freeze`)).status).toBe(204);
  expect(await phase(waits)).toBe("approved");
  expect((await call("DELETE", `${P}/freeze`, { token: operator })).status).toBe(403);
  expect((await call("DELETE", `${P}/freeze`)).status).toBe(204);
  await reaches(waits, "applied");
  for (const path of [P, S]) expect((await call("GET", path)).json).not.toHaveProperty("freeze");
});
