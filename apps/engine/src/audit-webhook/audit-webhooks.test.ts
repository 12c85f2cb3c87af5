import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { P, startApi } from "../testing/start-api.ts";
import { startReceiver } from "../testing/start-receiver.ts";

const ALL = "/api/v1/audit/webhooks";
const ANY = { "if-match": "*" };
const POLL = { timeout: 25_000 };

interface Entry {
  readonly sequence: number;
  readonly action: string;
}

async function start(options: object = { notificationHosts: ["127.0.0.1"] }) {
  const receiver = await startReceiver();
  const api = await startApi("none", options);
  const { call } = api;
  const create = async (body: object = {}) =>
    call("POST", ALL, { body: { name: "siem", url: receiver.url, ...body } });
  const shown = async () => (await call("GET", `${ALL}/siem`)).json;
  const entries = () => receiver.received.flatMap(({ json }) => json["entries"] as Entry[]);
  const sequences = () => entries().map(({ sequence }) => sequence);
  const trail = async () => (await call("GET", "/api/v1/audit")).json["entries"] as Entry[];
  return { ...api, receiver, create, shown, entries, sequences, trail };
}

it("a receiver gets the whole trail in its order, signed, with what was recorded before it was made", {
  timeout: 60_000,
}, async () => {
  const { call, receiver, create, entries, sequences, trail } = await start();
  for (const name of ["a", "b", "c"]) await call("POST", `${P}/stacks`, { body: { name } });
  const made = await create();
  expect(made.status, made.text).toBe(201);
  const secret = String(made.json["secret"]);
  await expect
    .poll(() => entries().map(({ action }) => action), POLL)
    .toContain("CreateAuditWebhook");
  const all = await trail();
  expect(entries()).toEqual(all);
  expect(sequences()).toEqual(all.map((_entry, at) => at + 1));
  await call("POST", `${P}/stacks`, { body: { name: "d" } });
  await expect.poll(() => sequences().length, POLL).toBe(all.length + 1);
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  for (const { headers, text, json } of receiver.received) {
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": given } = headers;
    const mac = createHmac("sha256", key).update(`${String(id)}.${String(at)}.${text}`);
    expect(given).toBe(`v1,${mac.digest("base64")}`);
    expect(json).toMatchObject({ id, event: "audit.entries", account: "default" });
  }
});

it("what fails is tried again, holds up what follows, and an address that was changed is tried at once", {
  timeout: 60_000,
}, async () => {
  const { call, receiver, create, shown, sequences } = await start();
  receiver.answers.status = 500;
  await create();
  await expect
    .poll(shown, POLL)
    .toMatchObject({ attempts: 1, problem: "it answered 500", after: 0 });
  const first = receiver.received.length;
  await call("POST", `${P}/stacks`, { body: { name: "later" } });
  receiver.answers.status = 200;
  const body = { url: `${receiver.url}?token=canary-of-an-address` };
  const changed = await call("PATCH", `${ALL}/siem`, { body, headers: ANY });
  expect(changed.status, changed.text).toBe(200);
  await expect.poll(shown, POLL).toMatchObject({ attempts: 0, delivered_at: expect.any(String) });
  expect(JSON.stringify(await shown())).not.toMatch(/canary|whsec_|problem/);
  const delivered = receiver.received.slice(first);
  const sent = delivered.flatMap(({ json }) => json["entries"] as Entry[]);
  expect(sent.map(({ sequence }) => sequence)).toEqual(sent.map((_entry, at) => at + 1));
  expect(sequences().at(0)).toBe(1);
  const listed = await call("GET", `${ALL}/siem/deliveries`);
  const deliveries = listed.json["deliveries"] as { first: number; delivered: boolean }[];
  expect(deliveries.at(-1)).toMatchObject({ first: 1, delivered: false, status: 500 });
  expect(deliveries.find(({ delivered }) => delivered)).toMatchObject({ first: 1, status: 200 });
  expect(listed.text).not.toContain("canary-of-an-address");
});

it("begins behind an entry that the receiver has, and sends nothing while it is paused", {
  timeout: 60_000,
}, async () => {
  const { call, receiver, create, shown, sequences, trail } = await start();
  await call("POST", `${P}/stacks`, { body: { name: "a" } });
  const after = (await trail()).length;
  await create({ after, paused: true });
  const body = { paused: false };
  await call("PATCH", `${ALL}/siem`, { body: { paused: true }, headers: ANY });
  expect(receiver.received).toEqual([]);
  await call("PATCH", `${ALL}/siem`, { body, headers: ANY });
  await expect.poll(async () => (await shown())["after"], POLL).toBe((await trail()).length);
  expect(sequences().at(0)).toBe(after + 1);
  const deleted = await call("DELETE", `${ALL}/siem`, { headers: ANY });
  expect(deleted.status).toBe(204);
});

it("reaches no private network that the operator does not name, and follows no redirect", {
  timeout: 60_000,
}, async () => {
  const closed = await start({});
  const code = async (url: string) => (await closed.create({ url })).json["code"];
  for (const url of [
    closed.receiver.url,
    "https://10.0.0.1/x",
    "https://[::1]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://169.254.169.254/latest",
    "https://localhost/x",
    "http://example.com/x",
    "https://user:password@example.com/x",
    "file:///etc/passwd",
  ]) {
    expect([url, await code(url)]).toEqual([url, "unprocessable"]);
  }
  const { call, receiver, create, shown } = await start();
  receiver.answers.status = 307;
  receiver.answers.headers = { location: "http://169.254.169.254/latest" };
  await create({ after: 1_000_000 });
  const tested = await call("POST", `${ALL}/siem/test`);
  expect(tested.json).toEqual({
    delivered: false,
    status: 307,
    problem: "it answered 307; redirects are not followed",
  });
  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.json).toMatchObject({ event: "test", entries: [] });
  expect(await shown()).toMatchObject({ after: 1_000_000, attempts: 0 });
});

it("a changed secret signs beside the former one, a name is used once, and five webhooks are the most", async () => {
  const { call, create } = await start();
  const first = await create({ paused: true });
  expect((await create()).json["code"]).toBe("name_taken");
  const changed = await call("PATCH", `${ALL}/siem`, { body: { new_secret: true }, headers: ANY });
  expect(changed.json["secret"]).not.toBe(first.json["secret"]);
  expect(changed.json).toHaveProperty("former_secret_until");
  const stale = { "if-match": String(first.headers.get("etag")) };
  const body = { paused: true };
  expect((await call("PATCH", `${ALL}/siem`, { body, headers: stale })).status).toBe(412);
  expect((await call("PATCH", `${ALL}/siem`, { body })).status).toBe(428);
  for (const name of ["b", "c", "d", "e"]) expect((await create({ name })).status).toBe(201);
  expect((await create({ name: "f" })).json["code"]).toBe("unprocessable");
});
