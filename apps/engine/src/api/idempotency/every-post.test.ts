import { join } from "node:path";
import { canary, findCanariesInFolder } from "@stackwright/core/testing";
import { expect, it, onTestFinished, vi } from "vitest";
import { type ApiOperation, allOperationsOf } from "../../testing/api-document.ts";
import { filledPath } from "../../testing/filled-path.ts";
import { P, S, startApi } from "../../testing/start-api.ts";
import { RequestOnce } from "./request-once.ts";
import { ROUTES_WITHOUT_KEYS } from "./routes-without-keys.ts";

const HASH = "0".repeat(64);
const IGNORE = { reason: "r", expires_in_seconds: 3_600 };

/** A valid body of each POST that takes one with members that it needs, by the name or path of its operation. */
const BODIES: Readonly<Record<string, object>> = {
  "/registry/namespaces/{namespace}/transfer": { account: "default" },
  "/registry/access-keys": { roles: ["registry:reader"] },
  "/registry/tokens": { roles: ["registry:reader"] },
  CreateAccount: { name: "acme" },
  CreateUser: { name: "bot", service: true },
  LinkUserIdentity: { provider: "company", subject: "s-1" },
  CreateTeam: { name: "ops" },
  CreateToken: { role: "viewer", user: "bot" },
  CreateAuditWebhook: { name: "siem", url: "https://siem.example.com/in" },
  CreateProject: { name: "web" },
  CreateStack: { name: "two" },
  CreateSchedule: { mode: "plan_only", cron: "0 3 * * *" },
  CreateTrigger: { mode: "plan_only", producer: { project: "web", stack: "producer" } },
  IgnoreDrift: { address: "a.b", ...IGNORE },
  IgnoreDriftOfSeveral: { differences: [{ address: "a.c" }], ...IGNORE },
  CreateDriftHook: { name: "cloud" },
  CreateVariableSet: { name: "shared" },
  CreateAccountVariableSet: { name: "everywhere" },
  RemoveProviderSchema: { provider: "hashicorp/null", version: "3.2.4" },
  CreateVcsConnection: {
    name: "infra",
    kind: "generic",
    repository_url: "https://git.example.com/infra.git",
  },
  CreateNotificationDestination: {
    name: "ops",
    kind: "webhook",
    url: "https://hooks.example.com/in",
  },
  CreateRun: { configuration: HASH },
  ApproveRun: { plan_digest: HASH },
  OverrideFreeze: { reason: "r" },
  CreatePlanSet: { stacks: [{ stack: "one", configuration: HASH }] },
  ApprovePlanSet: { digest: HASH },
  OverridePolicies: { plan_digest: HASH, reason: "r" },
  CreatePolicySet: { name: "security" },
};

/** Of what is in the store of this test a repeat has no success, so that the walk of all operations and tests of their own are what there is. */
const WITHOUT_SUCCESS: Readonly<Record<string, string>> = {
  "/registry/namespaces/{namespace}/transfer": "needs a namespace of another account",
  "/registry/private-providers/{name}/versions/{version}/checks": "needs a function",
  "/registry/access-keys/{actor}/rotation": "has its own test below",
  LinkUserIdentity: "needs a provider of logins",
  RestoreStateVersion: "needs the state of a terraform or tofu command",
  CheckDrift: "needs a stack that was applied",
  RemoveProviderSchema: "needs a run with the provider",
  RedeliverNotification: "needs a delivery",
  CreatePlanSet: "has its own test below",
  ApprovePlanSet: "needs a worker",
  DiscardPlanSet: "needs a worker",
  ApproveRun: "has its own test below",
  DiscardRun: "needs a worker",
  OverrideFreeze: "needs a worker",
  OverridePolicies: "needs a worker",
  CancelPlanSet: "has its own test below",
  RetryRun: "has its own test below",
};

const nameOf = ({ name, path }: ApiOperation): string =>
  name === "" ? path.slice("/api/v1".length) : name;

async function start(options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi("none", {
    apiRateLimit: { perSecond: 1e6, burst: 1e6 },
    ...options,
  });
  const { call, upload } = api;
  await call("POST", P.slice(0, -4), { body: { name: "web" } });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await call("POST", `${P}/stacks`, { body: { name: "producer" } });
  const digest = String((await upload()).json["digest"]);
  const posts = allOperationsOf((await call("GET", "/openapi.json")).json).filter(
    ({ method, path }) => method === "POST" && path.startsWith("/api/v1/"),
  );
  const post = async (path: string, body: object | undefined, key: string, token?: string) =>
    call("POST", path, { body, headers: { "idempotency-key": key }, token });
  const done = async (action: string) => {
    const { entries } = (await call("GET", "/api/v1/audit?limit=1000")).json as {
      readonly entries: readonly { readonly action: string; readonly outcome: string }[];
    };
    return entries.filter((one) => one.action === action && one.outcome === "done").length;
  };
  return { ...api, digest, posts, post, done };
}

it("each POST of the document refuses the key of another request, or is in the table of those that take none", async () => {
  const { posts, post } = await start();
  const left = Object.keys(ROUTES_WITHOUT_KEYS);
  expect(left.filter((name) => !posts.some((one) => nameOf(one) === name))).toEqual([]);
  const taking = posts.filter((one) => !left.includes(nameOf(one)));
  expect(taking.length).toBeGreaterThan(40);
  expect((await post("/api/v1/teams", { name: "first" }, "used")).status).toBe(201);
  const found: Record<string, unknown> = {};
  for (const operation of taking) {
    const { path, parameters } = operation;
    const hasHeader = parameters.some((one) => one.name === "idempotency-key");
    const { status, text } = await post(filledPath(path), BODIES[nameOf(operation)], "used");
    const isMismatch = /idempotency_mismatch/i.test(text);
    if (status !== 422 || !isMismatch || !hasHeader) found[nameOf(operation)] = { status, text };
  }
  expect(found).toEqual({});
  for (const { parameters } of posts.filter((one) => left.includes(nameOf(one)))) {
    expect(parameters.map(({ name }) => name)).not.toContain("idempotency-key");
  }
});

it("a POST with the key of before has its effect once, and the answer of before", {
  timeout: 120_000,
}, async () => {
  const { posts, post, done, digest, call } = await start();
  expect(
    Object.keys(WITHOUT_SUCCESS).filter((name) => !posts.some((one) => nameOf(one) === name)),
  ).toEqual([]);
  const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const run = String(made.json["id"]);
  const bodies = {
    ...BODIES,
    CreateProject: { name: "other" },
    CreateRun: { configuration: digest },
    EvictPackages: {},
  } as Readonly<Record<string, object>>;
  const order = [
    "CreateAccount",
    "CreateUser",
    "CreateVcsConnection",
    "CreateNotificationDestination",
  ];
  const tried = posts
    .filter((one) => !(nameOf(one) in ROUTES_WITHOUT_KEYS) && !(nameOf(one) in WITHOUT_SUCCESS))
    .toSorted((a, b) => Number(order.includes(b.name)) - Number(order.includes(a.name)));
  expect(tried.length).toBeGreaterThan(20);
  for (const operation of tried) {
    const name = nameOf(operation);
    const path = filledPath(operation.path, { run });
    const before = await done(name);
    const first = await post(path, bodies[name], name);
    expect([name, first.status < 300, first.text]).toEqual([name, true, first.text]);
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    const again = await post(path, bodies[name], name);
    expect([name, again.status, again.text]).toEqual([name, first.status, first.text]);
    expect([name, again.headers.get("idempotency-replayed")]).toEqual([name, "true"]);
    expect([name, again.headers.get("cache-control")]).toEqual([name, "no-store"]);
    for (const header of ["location", "etag", "content-type"]) {
      expect([name, header, again.headers.get(header)]).toEqual([
        name,
        header,
        first.headers.get(header),
      ]);
    }
    if (operation.name !== "") expect([name, (await done(name)) - before]).toEqual([name, 1]);
    const other = await post(`${path}?other=1`, bodies[name], name);
    expect([name, other.status]).toEqual([name, 422]);
    expect(other.text).toMatch(/idempotency_mismatch/i);
  }
});

it("another body with the same key is refused, another actor has keys of its own", async () => {
  const { post, call, tokenOf } = await start();
  const path = `${P}/variable-sets`;
  expect((await post(path, { name: "a" }, "k")).status).toBe(201);
  expect((await post(path, { name: "b" }, "k")).json["code"]).toBe("idempotency_mismatch");
  expect((await post(path, { name: "b" }, "k", await tokenOf("admin"))).status).toBe(201);
  const { sets } = (await call("GET", path)).json as { readonly sets: readonly unknown[] };
  expect(sets).toHaveLength(2);
});

it("an access key is rotated once by one key, and its new secret is repeated", async () => {
  const { post } = await start();
  const made = await post("/api/v1/registry/access-keys", { roles: ["registry:reader"] }, "made");
  expect(made.status).toBe(201);
  const path = `/api/v1/registry/access-keys/${String(made.json["access_key"])}/rotation`;
  const first = await post(path, { overlap_hours: 1 }, "rotated");
  expect([first.status < 300, first.text]).toEqual([true, first.text]);
  const again = await post(path, { overlap_hours: 1 }, "rotated");
  expect([again.status, again.text]).toEqual([first.status, first.text]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  // Another key rotates it again.
  const next = await post(path, { overlap_hours: 1 }, "once more");
  expect([next.status, next.text === first.text]).toEqual([first.status, false]);
});

it("a caller who has lost the role for a request has no repeat of its answer", async () => {
  const { post, call } = await start();
  for (const name of ["bot", "ci", "boss"]) {
    await call("POST", "/api/v1/users", { body: { name, service: true } });
  }
  const giveRole = async (role: string, user = "bot") => {
    const { status } = await call("PUT", `/api/v1/roles/user/${user}`, { body: { role } });
    expect(status).toBe(200);
  };
  // Another one has to be left.
  await giveRole("admin", "boss");
  await giveRole("admin");
  const own = await call("POST", "/api/v1/tokens", { body: { user: "bot", role: "admin" } });
  const token = String(own.json["token"]);
  const ask = async (key: string) =>
    post("/api/v1/tokens", { role: "viewer", user: "ci" }, key, token);
  const made = await ask("k");
  expect(made.status).toBe(201);
  expect((await ask("k")).text).toBe(made.text);
  await giveRole("viewer");
  expect((await ask("new")).status).toBe(403);
  const repeat = await ask("k");
  expect([repeat.status, repeat.json["code"]]).toEqual([409, "answer_unavailable"]);
  expect(repeat.text).not.toContain(String(made.json["token"]));
  await giveRole("admin");
  expect((await ask("k")).text).toBe(made.text);
});

it("a new token is in the audit trail before its answer is kept, and so is each repeat of that answer", async () => {
  const { post, call, done } = await start();
  await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  const complete = vi.spyOn(RequestOnce.prototype, "complete");
  onTestFinished(() => complete.mockRestore());
  let seen = 0;
  complete.mockImplementationOnce(async function (this: RequestOnce, answer) {
    seen = await done("CreateToken");
    return this.complete(answer);
  });
  const made = await post("/api/v1/tokens", { role: "viewer", user: "bot" }, "k");
  expect([made.status, seen]).toEqual([201, 1]);
  expect(await done("RepeatAnswer")).toBe(0);
  expect((await post("/api/v1/tokens", { role: "viewer", user: "bot" }, "k")).text).toBe(made.text);
  expect([await done("CreateToken"), await done("RepeatAnswer")]).toEqual([1, 1]);
  const path = "/api/v1/registry/tokens";
  for (let repeat = 0; repeat < 2; repeat += 1) {
    expect((await post(path, { roles: ["registry:reader"] }, "r")).status).toBe(201);
  }
  expect(await done("RepeatAnswer")).toBe(2);
});

it("the key of a refused request is free", async () => {
  const { post, call } = await start();
  const stack = { name: "late" };
  const path = "/api/v1/projects/later/stacks/late/runs";
  expect((await post(path, { configuration: HASH }, "k")).status).toBe(404);
  expect((await call("POST", "/api/v1/projects/later/stacks", { body: stack })).status).toBe(201);
  expect((await post(path, { configuration: HASH }, "k")).status).toBe(422);
  const tokens = "/api/v1/tokens";
  expect((await post(tokens, { role: "viewer", user: "bot" }, "t")).status).toBe(404);
  await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  expect((await post(tokens, { role: "viewer", user: "bot" }, "t")).status).toBe(201);
});

it("equal requests at the same time have one effect and equal answers", {
  timeout: 60_000,
}, async () => {
  const { post, call } = await start();
  await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  for (const [path, body] of [
    ["/api/v1/tokens", { role: "viewer", user: "bot", description: "parallel" }],
    ["/api/v1/registry/access-keys", { roles: ["registry:reader"], description: "parallel" }],
    [`${P}/stacks`, { name: "parallel" }],
    [`${P}/drift-hooks`, { name: "parallel" }],
    [`${S}/schedules`, { mode: "plan_only", cron: "0 3 * * *" }],
  ] as const) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => post(path, body, `parallel ${path}`)),
    );
    const answered = answers.filter(({ status }) => status === 201);
    expect(new Set(answered.map(({ text }) => text)).size).toBe(1);
    expect(
      answered.filter(({ headers }) => headers.get("idempotency-replayed") === null),
    ).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(
      refused.filter(({ status, text }) => status !== 409 || !/in_progress/i.test(text)),
    ).toEqual([]);
    const after = await post(path, body, `parallel ${path}`);
    expect([path, after.text]).toEqual([path, answered[0]?.text]);
  }
  const { tokens } = (await call("GET", "/api/v1/tokens")).json as {
    readonly tokens: readonly { readonly description: string }[];
  };
  expect(tokens.filter(({ description }) => description === "parallel")).toHaveLength(1);
  const { schedules } = (await call("GET", `${S}/schedules`)).json as {
    readonly schedules: readonly unknown[];
  };
  expect(schedules).toHaveLength(1);
});

it("an approval, a retry and a plan set are repeated by their keys", {
  timeout: 60_000,
}, async () => {
  const { call, upload } = await startApi("in-process");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const configuration = String((await upload()).json["digest"]);
  let keys = 0;
  const twice = async (path: string, body: object) => {
    const headers = { "idempotency-key": `${(keys += 1)}` };
    const first = await call("POST", path, { body, headers });
    const again = await call("POST", path, { body, headers });
    expect([path, again.status, again.text]).toEqual([path, first.status, first.text]);
    expect(first.status).toBeLessThan(300);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    return first.json;
  };
  const set = await twice(`${P}/plan-sets`, { stacks: [{ stack: "one", configuration }] });
  await twice(`${P}/plan-sets/${String(set["id"])}/cancel`, {});
  const shown = async (run: unknown) => (await call("GET", `${S}/runs/${String(run)}`)).json;
  const { id } = await twice(`${S}/runs`, { configuration });
  await expect
    .poll(async () => (await shown(id))["phase"], { timeout: 20_000 })
    .toBe("awaiting_approval");
  const planDigest = (await shown(id))["plan_digest"];
  await twice(`${S}/runs/${String(id)}/approvals`, { plan_digest: planDigest });
  await expect.poll(async () => (await shown(id))["phase"], { timeout: 20_000 }).toBe("applied");
  expect((await shown(id))["approvals"]).toHaveLength(1);
  const other = await twice(`${S}/runs`, { configuration, message: "canceled" });
  await call("POST", `${S}/runs/${String(other["id"])}/cancel`, { body: { force: true } });
  await expect
    .poll(async () => (await shown(other["id"]))["phase"], { timeout: 20_000 })
    .toBe("canceled");
  await twice(`${S}/runs/${String(other["id"])}/retry`, {});
});

it("no secret of an answer or a request is in the store", {
  timeout: 60_000,
}, async () => {
  const { post, call, directory } = await start({ store: "sqlite:data" });
  const given = canary("webhook");
  await call("POST", "/api/v1/users", { body: { name: "bot", service: true } });
  const answers = [
    await post("/api/v1/tokens", { role: "admin", user: "bot" }, "token"),
    await post("/api/v1/accounts/default/tokens", {}, "account-token"),
    await post("/api/v1/registry/tokens", { roles: ["registry:admin"] }, "registry-token"),
    await post("/api/v1/registry/access-keys", { roles: ["registry:admin"] }, "key"),
    await post(`${P}/drift-hooks`, { name: "made" }, "hook"),
    await post(`${P}/drift-hooks`, { name: "given", webhook_secret: given }, "given"),
    await post(`${P}/notifications`, BODIES["CreateNotificationDestination"], "destination"),
    await post("/api/v1/audit/webhooks", BODIES["CreateAuditWebhook"], "audit"),
    await post(`${P}/vcs-connections`, BODIES["CreateVcsConnection"], "connection"),
  ];
  const secrets = answers.map(({ status, json }) => {
    expect(status).toBe(201);
    return String(json["token"] ?? json["secret_key"] ?? json["webhook_secret"] ?? json["secret"]);
  });
  expect(new Set(secrets).size).toBe(answers.length);
  const folder = join(directory, "data");
  const text = "by-who-asks";
  await call("POST", "/api/v1/teams", { body: { name: text } });
  expect((await findCanariesInFolder(folder, [...secrets, given])).found).toEqual([]);
  // What is no secret is found.
  expect((await findCanariesInFolder(folder, [text])).found).not.toEqual([]);
});
