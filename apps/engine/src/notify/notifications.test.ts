import { createHmac } from "node:crypto";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";
import { startReceiver } from "../testing/start-receiver.ts";

const ALL = `${P}/notifications`;
const ANY = { "if-match": "*" };

async function start(options: object = { notificationHosts: ["127.0.0.1"] }) {
  const receiver = await startReceiver();
  const api = await startApi("in-process", options);
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const create = async (body: object = {}) =>
    call("POST", ALL, { body: { name: "ops", kind: "webhook", url: receiver.url, ...body } });
  const run = async (body: object = {}, files?: Record<string, string>) => {
    const { digest } = (await upload(files)).json;
    const made = await call("POST", `${S}/runs`, { body: { configuration: digest, ...body } });
    expect(made.status, made.text).toBe(201);
    return String(made.json["id"]);
  };
  const phase = async (id: string) => (await call("GET", `${S}/runs/${id}`)).json["phase"];
  const reaches = async (id: string, wanted: string) =>
    expect.poll(async () => phase(id), { timeout: 30_000 }).toBe(wanted);
  const deliveries = async (name = "ops") =>
    (await call("GET", `${ALL}/${name}/deliveries`)).json["deliveries"] as Record<
      string,
      unknown
    >[];
  return { ...api, receiver, create, run, reaches, deliveries };
}

/** The example of the page about notifications. */
async function documentedExample() {
  const page = await readFile(new URL("../../docs/notifications.md", import.meta.url), "utf8");
  const [, code = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const scratch = await mkdtempDisposable(join(tmpdir(), "verify-"));
  onTestFinished(() => scratch.remove());
  const file = join(scratch.path, "verify.mjs");
  await writeFile(file, code);
  return (await import(pathToFileURL(file).href)) as {
    readonly isGenuine: (secret: string, headers: object, body: string) => boolean;
  };
}

function isSigned(secret: string, headers: Readonly<Record<string, unknown>>, text: string) {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": given } = headers;
  const mac = createHmac("sha256", key).update(`${String(id)}.${String(at)}.${text}`);
  return String(given)
    .split(" ")
    .includes(`v1,${mac.digest("base64")}`);
}

it("a run that needs approval, is applied or fails is sent, signed, in order and without values", {
  timeout: 90_000,
}, async () => {
  const { call, create, run, reaches, receiver, deliveries, server } = await start();
  const made = await create();
  expect(made.status, made.text).toBe(201);
  const secret = String(made.json["secret"]);
  expect(secret).toMatch(/^whsec_/);
  const shown = (await call("GET", `${ALL}/ops`)).json;
  expect(shown).not.toHaveProperty("secret");

  const id = await run({ message: "canary-of-a-message" });
  await reaches(id, "awaiting_approval");
  const { plan_digest } = (await call("GET", `${S}/runs/${id}`)).json;
  await call("POST", `${S}/runs/${id}/approvals`, { body: { plan_digest } });
  await reaches(id, "applied");
  const broken = await run({}, { "main.tf": 'resource "terraform_data" "a" { input = nope }' });
  await reaches(broken, "failed");
  await expect
    .poll(receiver.events, { timeout: 20_000 })
    .toEqual(["run.needs_approval", "run.applied", "run.failed"]);
  const { isGenuine } = await documentedExample();
  for (const { headers, text } of receiver.received) {
    expect([isSigned(secret, headers, text), isGenuine(secret, headers, text)]).toEqual([
      true,
      true,
    ]);
    expect(isGenuine(secret, headers, `${text} `)).toBe(false);
    expect(isGenuine(secret, { ...headers, "webhook-signature": "v1,AAAA" }, text)).toBe(false);
    const old = { ...headers, "webhook-timestamp": String(Date.now() / 1_000 - 3_600) };
    expect(isGenuine(secret, old, text)).toBe(false);
    expect(text).not.toMatch(/canary|nope/);
  }
  const [first, , failed] = receiver.received;
  expect(first?.json).toMatchObject({
    id: first?.headers["webhook-id"],
    account: "default",
    project: "web",
    stack: { name: "one" },
    run: { id, number: 1, phase: "awaiting_approval", mode: "apply", plan_only: false },
    url: `${server.url}/console/p/web/s/one/r/${id}`,
  });
  expect(failed?.json).toMatchObject({ run: { id: broken, reason_code: "configuration" } });
  await expect
    .poll(async () => deliveries())
    .toMatchObject([
      { event: "run.failed", state: "delivered", status: 200, attempts: 1, run: broken },
      { event: "run.applied", state: "delivered" },
      { event: "run.needs_approval", state: "delivered", id: first?.headers["webhook-id"] },
    ]);
});

it("events, stacks and pauses limit what a destination gets, and a chat gets a text", {
  timeout: 90_000,
}, async () => {
  const { call, create, run, reaches, receiver, deliveries } = await start();
  const chat = await create({ name: "chat", kind: "slack", events: ["run.applied"] });
  expect(chat.json).not.toHaveProperty("secret");
  expect(chat.json["url"]).toBe(`${new URL(receiver.url).origin}/…`);
  for (const [name, more] of [
    ["other-stacks", { stacks: ["two*"] }],
    ["failures", { events: ["run.failed"] }],
    ["paused", { paused: true }],
  ] as const) {
    expect((await create({ name, ...more })).status).toBe(201);
  }
  const id = await run({ auto_apply: true });
  await reaches(id, "applied");
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(1);
  const [sent] = receiver.received;
  expect(Object.keys(sent?.json ?? {})).toEqual(["text"]);
  expect(sent?.json["text"]).toMatch(
    /^Run <http[^|>]+\/r\/[0-9A-Z]{26}\|#1> of web\/one was applied$/,
  );
  expect(sent?.headers).not.toHaveProperty("webhook-signature");
  await expect.poll(async () => deliveries("chat")).toMatchObject([{ state: "delivered" }]);
  for (const name of ["other-stacks", "failures", "paused"]) {
    await expect.poll(async () => deliveries(name)).toEqual([]);
  }
  expect((await call("DELETE", `${ALL}/chat`, { headers: ANY })).status).toBe(204);
  expect((await call("GET", `${ALL}/chat`)).status).toBe(404);
});

it("a test says how it went, a change of the secret signs with both, redirects are not followed", {
  timeout: 60_000,
}, async () => {
  const { call, create, receiver, deliveries } = await start();
  const secret = String((await create()).json["secret"]);
  const test = async () => (await call("POST", `${ALL}/ops/test`)).json;
  expect(await test()).toMatchObject({ event: "test", state: "delivered", status: 200 });
  expect(receiver.received[0]?.json).toMatchObject({ event: "test", project: "web" });

  const body = { new_secret: true };
  expect((await call("PATCH", `${ALL}/ops`, { body })).status).toBe(428);
  const changed = await call("PATCH", `${ALL}/ops`, { body, headers: ANY });
  const next = String(changed.json["secret"]);
  expect(changed.json).toHaveProperty("former_secret_until");
  await test();
  const { headers, text } = receiver.received[1] ?? { headers: {}, text: "" };
  expect([secret, next].map((one) => isSigned(one, headers, text))).toEqual([true, true]);

  receiver.answers.status = 307;
  receiver.answers.headers = { location: receiver.url };
  expect(await test()).toMatchObject({
    state: "dead",
    status: 307,
    problem: "it answered 307; redirects are not followed",
  });
  receiver.answers.status = 500;
  receiver.answers.body = "no such\u0007 channel\nand a stack trace";
  const failed = await test();
  expect(failed).toMatchObject({ problem: "it answered 500: no such  channel" });
  expect(receiver.received).toHaveLength(4);

  receiver.answers.status = 200;
  const path = `${ALL}/ops/deliveries/${String(failed["id"])}/redeliver`;
  expect((await call("POST", path)).status).toBe(202);
  await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBe(5);
  expect(receiver.received[4]?.headers["webhook-id"]).toBe(failed["id"]);
  await expect
    .poll(async () => (await deliveries()).find(({ id }) => id === failed["id"]))
    .toMatchObject({ state: "delivered", attempts: 1 });
  const unknown = `${ALL}/ops/deliveries/${"0".repeat(26)}/redeliver`;
  expect((await call("POST", unknown)).status).toBe(404);
});

it("what cannot be reached waits for its next attempt, and a new address is tried at once", {
  timeout: 60_000,
}, async () => {
  const { call, create, run, reaches, receiver, deliveries } = await start();
  await create({ url: "http://127.0.0.1:1/hidden-path", events: ["run.applied"] });
  await reaches(await run({ auto_apply: true }), "applied");
  await expect
    .poll(async () => deliveries(), { timeout: 20_000 })
    .toMatchObject([
      { state: "waiting", attempts: 1, problem: expect.stringContaining("ECONNREFUSED") },
    ]);
  expect(JSON.stringify(await deliveries())).not.toContain("hidden-path");
  await call("PATCH", `${ALL}/ops`, { body: { url: receiver.url }, headers: ANY });
  await expect
    .poll(async () => deliveries(), { timeout: 20_000 })
    .toMatchObject([{ state: "delivered" }]);
});

it("private addresses, credentials in addresses and weak secrets are refused", {
  timeout: 60_000,
}, async () => {
  const { create, call, receiver } = await start({});
  for (const [body, message] of [
    [{}, "--notification-host 127.0.0.1"],
    [{ url: "https://10.1.2.3/x" }, "--notification-host 10.1.2.3"],
    [{ url: "https://[::1]/x" }, "private network"],
    [{ url: "https://localhost/x" }, "private network"],
    [{ url: "http://example.com/x" }, "use https"],
    [{ url: "https://u:p@example.com/x" }, "holds no credentials"],
    [{ url: "https://example.com/x", secret: "whsec_c2hvcnQ=" }, "24 to 64 random bytes"],
    [{ url: "https://example.com/x", secret: "no" }, "24 to 64 random bytes"],
    [{ url: "https://example.com/x", kind: "slack", secret: "whsec_x" }, "no secret"],
    [{ url: "https://example.com/x", events: ["nothing"] }, "events"],
  ] as const) {
    const refused = await create(body);
    expect([refused.status >= 400, refused.text]).toEqual([true, expect.stringContaining(message)]);
  }
  for (let at = 0; at < 20; at += 1) {
    const body = { name: `d${at}`, url: "https://example.com/x?token=hidden" };
    const made = await create(body);
    expect(made.json["url"]).toBe("https://example.com/x?…");
  }
  expect((await create({ name: "more", url: "https://example.com/" })).status).toBe(422);
  expect((await create({ name: "d1", url: "https://example.com/" })).json["code"]).toBe(
    "name_taken",
  );
  expect((await call("GET", ALL)).text).not.toContain("hidden");
  expect(receiver.received).toEqual([]);
});
