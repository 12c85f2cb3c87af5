import { createRemoteStorage } from "@stackwright/storage/remote";
import { describe, expect, it, onTestFinished } from "vitest";
import { STACK_HEAD_KIND, stackPlace } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf } from "../../queue/transaction.ts";
import { acquireRemoteLease, otherWorkerId } from "../../testing/remote-lease.ts";
import { P, S, startApi } from "../../testing/start-api.ts";
import { WORKER_PROTOCOL } from "../../worker/remote-protocol.ts";

const CLAIMS = "/api/v1/worker/claims";
const EVENT = { type: "log", text: "one" };

async function start() {
  const api = await startApi("none", { storagePort: 0 });
  const { call, upload, server, tokenOf } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const port = server.storagePort ?? 0;
  const { digest } = (await upload()).json;
  const request = async (): Promise<string> =>
    String((await call("POST", `${S}/runs`, { body: { configuration: digest } })).json["id"]);
  /** A worker of a token, with its lease. */
  const worker = async (token: string) => {
    const { json } = await call("GET", "/api/v1/worker", { token });
    const id = otherWorkerId(String(json["worker_prefix"]));
    const lease = await acquireRemoteLease(port, token, id);
    const named = { protocol: WORKER_PROTOCOL, worker: id, fence: lease.guard.version, request: 1 };
    let requests = 0;
    const claim = async (more: object = {}) =>
      call("POST", CLAIMS, { token, body: { ...named, request: (requests += 1), ...more } });
    return { id, lease, named, claim, token };
  };
  const storageOf = async (token: string) => {
    const storage = await createRemoteStorage({ address: { host: "127.0.0.1", port }, token });
    onTestFinished(async () => storage.close());
    return storage;
  };
  return { ...api, port, request, worker, storageOf, token: await tokenOf("worker") };
}

/** What a claim is for, as the answer names it. */
function claimed(json: Readonly<Record<string, unknown>>) {
  const [account, project, stack, run, token] = ["account", "project", "stack", "run", "token"].map(
    (name) => String(json[name]),
  ) as [string, string, string, string, string];
  return { stack: { account, project, stack }, run, token, path: `${CLAIMS}/${run}` };
}

describe("claims of remote workers", () => {
  it("two workers that ask at once get a step once", async () => {
    const { worker, request, token, tokenOf } = await start();
    const workers = [
      await worker(token),
      await worker(token),
      await worker(await tokenOf("worker")),
    ];
    await request();
    const answers = await Promise.all(workers.map(async ({ claim }) => claim()));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 204, 204]);
  });

  it("a request waits for a step", async () => {
    const { worker, request, token } = await start();
    const { claim } = await worker(token);
    const waiting = claim({ wait_seconds: 20 });
    const run = await request();
    expect((await waiting).json["run"]).toBe(run);
  });

  it("a token that is limited to projects gets no step of another one", async () => {
    const { worker, request, tokenOf } = await start();
    const elsewhere = await worker(await tokenOf("worker", ["elsewhere"]));
    const here = await worker(await tokenOf("worker", ["web"]));
    await request();
    expect((await elsewhere.claim()).status).toBe(204);
    expect((await here.claim()).status).toBe(200);
  });

  it("a step of a pool is for the workers of this pool alone", async () => {
    const { worker, request, token, call } = await start();
    const pools = [{ pool: "inside", stacks: ["o*"] }, { pool: "outside" }];
    const changed = await call("PATCH", P, { body: { pools } });
    expect(changed.json).toMatchObject({ pools });
    const body = { roles: ["worker"], pool: "inside" };
    const made = await call("POST", "/api/v1/registry/tokens", { body });
    const inside = await worker(String(made.json["token"]));
    const usual = await worker(token);
    const run = await request();
    expect((await call("GET", `${S}/runs/${run}`)).json).toMatchObject({ pool: "inside" });
    expect((await usual.claim()).status).toBe(204);
    const first = await inside.claim();
    expect(first.json).toMatchObject({ run });
    // A step that comes back stays in its pool.
    const { path, token: ofClaim } = claimed(first.json);
    await call("POST", `${path}/end`, { token: ofClaim, body: { given_up: "broken" } });
    expect((await usual.claim()).status).toBe(204);
    expect((await inside.claim()).json).toMatchObject({ run, attempts: 1 });
  });

  it("a worker cannot claim in the name of another credential's, nor have its lease", async () => {
    const { worker, port, token, tokenOf, call, request } = await start();
    const other = await tokenOf("worker");
    const victim = await worker(token);
    await request();
    const forged = await call("POST", CLAIMS, { token: other, body: victim.named });
    expect([forged.status, forged.json["code"]]).toEqual([403, "forbidden"]);
    await expect(acquireRemoteLease(port, other, victim.id)).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
  });

  it("a worker without its lease gets nothing", async () => {
    const { worker, request, token } = await start();
    const { claim, lease } = await worker(token);
    await request();
    expect((await claim({ fence: `${lease.guard.version}0` })).json["code"]).toBe("claim_lost");
    await lease.release();
    expect((await claim()).json["code"]).toBe("claim_lost");
  });

  it("a claim whose answer was lost is released with the next request", async () => {
    const { worker, request, token } = await start();
    const { claim } = await worker(token);
    const run = await request();
    const first = await claim();
    expect(first.json).toMatchObject({ run, attempts: 0 });
    expect((await claim({ running: [run] })).status).toBe(204);
    const again = await claim();
    expect(again.json).toMatchObject({ run, attempts: 1 });
    expect(again.json["token"]).not.toBe(first.json["token"]);
  });

  it("what a worker gives back at its end counts as no attempt", async () => {
    const { worker, request, token, call } = await start();
    const { claim } = await worker(token);
    const run = await request();
    for (const body of [
      { end: { how: "signal", signal: "SIGKILL" }, returned: true },
      { end: { how: "result", result: { phase: "canceled" } }, returned: true },
      { given_up: "the worker ends", returned: true },
      { given_up: "the folder of the step cannot be made" },
    ]) {
      const { path, token: ofClaim } = claimed((await claim()).json);
      expect((await call("POST", `${path}/end`, { token: ofClaim, body })).status).toBe(204);
    }
    expect((await claim()).json).toMatchObject({ run, attempts: 1 });
  });

  it.each([
    [
      "a worker of the version before",
      { protocol: WORKER_PROTOCOL - 1 },
      409,
      "install the same release",
    ],
    ["a worker that names no release", { protocol: undefined }, 409, "install the same release"],
    ["a request without a number", { request: undefined }, 400, "no number of the request"],
  ])("%s claims nothing", async (_who, more, status, text) => {
    const { worker, request, token } = await start();
    const { claim } = await worker(token);
    const run = await request();
    const refused = await claim(more);
    expect([refused.status, refused.text]).toEqual([status, expect.stringContaining(text)]);
    expect((await claim()).json).toMatchObject({ run, attempts: 0 });
  });

  it("a step that was lost is not given to the same worker at once", async () => {
    const { worker, request, token, tokenOf } = await start();
    const { claim } = await worker(token);
    const other = await worker(await tokenOf("worker"));
    const run = await request();
    await claim();
    expect((await claim({ ended: [{ run, ago_ms: 0 }] })).status).toBe(204);
    expect((await other.claim()).status).toBe(200);
  });

  it("a server without a storage service says so", async () => {
    const { call, tokenOf } = await startApi("none");
    const { status, text } = await call("GET", "/api/v1/worker", {
      token: await tokenOf("worker"),
    });
    expect([status, text]).toEqual([409, expect.stringContaining("--storage-port")]);
  });
});

describe("the token of a claim", () => {
  it("reaches the keys of its stack alone", async () => {
    const { call, worker, request, token, storageOf } = await start();
    await call("POST", `${P}/stacks`, { body: { name: "two" } });
    await request();
    const own = claimed((await (await worker(token)).claim()).json);
    const storage = await storageOf(own.token);
    const { tenancy } = stackPlace(own.stack);
    const refused = { code: "STORAGE_PERMISSION_DENIED" };
    await expect(
      storage.read("strong", idOf(STACK_HEAD_KIND, stackPlace(own.stack))),
    ).rejects.toMatchObject({ code: "STORAGE_NOT_FOUND" });
    for (const place of [
      { tenancy, name: own.stack.stack.replace(/.$/, (last) => (last === "0" ? "1" : "0")) },
      { tenancy: { ...tenancy, namespace: "other" }, name: own.stack.stack },
    ]) {
      await expect(storage.read("strong", idOf(STACK_HEAD_KIND, place))).rejects.toMatchObject(
        refused,
      );
    }
    const ticket = { tenancy, name: `default.${own.run}` };
    await expect(storage.read("strong", idOf(SERVER_KINDS.ticket, ticket))).rejects.toMatchObject(
      refused,
    );
  });

  it("is for the requests of its claim alone", async () => {
    const { call, worker, request, token } = await start();
    await request();
    const { claim } = await worker(token);
    const own = claimed((await claim()).json);
    expect((await call("GET", own.path, { token: own.token })).json).toEqual({ cancel_stage: 0 });
    const other = await call("GET", `${CLAIMS}/another`, { token: own.token });
    expect([other.status, other.json["code"]]).toEqual([404, "not_found"]);
    for (const [method, path] of [
      ["GET", `${S}/runs/${own.run}`],
      ["POST", CLAIMS],
      ["POST", `${S}/runs/${own.run}/approvals`],
    ] as const) {
      expect([path, (await call(method, path, { token: own.token })).status]).toEqual([path, 403]);
    }
    // And no other credential is for these.
    expect((await call("GET", own.path, { token })).status).toBe(403);
    expect((await call("GET", own.path)).status).toBe(403);
  });

  it("ends with its claim, in the API and in the store", async () => {
    const { call, worker, request, token, storageOf } = await start();
    await request();
    const own = claimed((await (await worker(token)).claim()).json);
    const storage = await storageOf(own.token);
    const body = { given_up: "the machine is stopped" };
    const end = async () => call("POST", `${own.path}/end`, { token: own.token, body });
    expect((await end()).status).toBe(204);
    expect([(await end()).status, (await end()).json["code"]]).toEqual([401, "unauthenticated"]);
    const head = idOf(STACK_HEAD_KIND, stackPlace(own.stack));
    await expect(storage.read("strong", head)).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
  });

  it("ends with the lease of its worker", async () => {
    const { call, worker, request, token, storageOf, port } = await start();
    await request();
    const { claim, lease, id } = await worker(token);
    const own = claimed((await claim()).json);
    const storage = await storageOf(own.token);
    await lease.release();
    // Another process has the name now: its epoch is higher.
    await acquireRemoteLease(port, token, id);
    const status = async () => (await call("GET", own.path, { token: own.token })).status;
    await expect.poll(status, { timeout: 20_000 }).toBe(401);
    const head = idOf(STACK_HEAD_KIND, stackPlace(own.stack));
    await expect(storage.read("strong", head)).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
  });

  it.each([
    ["another secret", (token: string) => token.replace(/.{4}$/, "AAAA")],
    ["no place", (token: string) => token.replace(/^swc_[^.]+/, "swc_e30")],
    ["a place that is no text", (token: string) => token.replace(/^swc_[^.]+/, "swc_WzEsMiwzLDRd")],
    ["no secret", (token: string) => token.replace(/\..*$/, "")],
  ])("is refused with %s", async (_what, forge) => {
    const { call, worker, request, token } = await start();
    await request();
    const own = claimed((await (await worker(token)).claim()).json);
    const forged = await call("GET", own.path, { token: forge(own.token) });
    expect([forged.status, forged.json["code"]]).toEqual([401, "unauthenticated"]);
  });

  it("gets the job, and a batch of events that is sent twice is stored once", async () => {
    const { call, worker, request, token } = await start();
    await request();
    const own = claimed((await (await worker(token)).claim()).json);
    const post = async (path: string, body: object = {}) =>
      call("POST", `${own.path}/${path}`, { token: own.token, body });
    const { json } = await post("start");
    expect(json["job"]).toMatchObject({ run: own.run, step: "plan", stack: own.stack });
    expect([(await post("planning")).status, (await post("planning")).status]).toEqual([204, 204]);
    const events = [{ at: 1, event: EVENT }];
    const batch = async (number: number) =>
      (await post("events", { batch: number, events })).status;
    expect([await batch(1), await batch(1), await batch(3), await batch(2)]).toEqual([
      204, 204, 409, 204,
    ]);
    await call("POST", `${S}/runs/${own.run}/cancel`, { body: {} });
    expect((await call("GET", own.path, { token: own.token })).json).toEqual({ cancel_stage: 1 });
    const ended = { end: { how: "result", result: { phase: "canceled" } } };
    expect((await post("end", ended)).status).toBe(204);
    const log = await call("GET", `${S}/runs/${own.run}/events`);
    expect(log.text.match(/"type":"log"/g)).toHaveLength(2);
    expect(log.text).toContain('"phase":"canceled"');
  });

  it("gets that a provider of a private namespace of another account is hidden", async () => {
    const { call, worker, request, token } = await start();
    await call("PUT", "/api/v1/registry/namespaces/neighbor", { body: { account: "acme" } });
    await request();
    const own = claimed((await (await worker(token)).claim()).json);
    const providers = ["neighbor", "unclaimed"].map((namespace) => ({
      source: `localterraform.com/${namespace}/demo`,
      version: "1.0.0",
    }));
    const body = { kind: "standing", providers };
    const { json } = await call("POST", `${own.path}/registry`, { token: own.token, body });
    expect(json["standing"]).toMatchObject([{ state: "hidden" }, { state: "unknown" }]);
  });

  it.each(["end", "phase-change", "approval", "Log", ""])(
    "cannot write an event of the type %j",
    async (type) => {
      const { call, worker, request, token } = await start();
      await request();
      const own = claimed((await (await worker(token)).claim()).json);
      const body = { batch: 1, events: [{ at: 1, event: { type } }] };
      const answer = await call("POST", `${own.path}/events`, { token: own.token, body });
      expect(answer.status).toBe(400);
    },
  );
});
