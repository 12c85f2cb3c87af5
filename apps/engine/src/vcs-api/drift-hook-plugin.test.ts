import { createHmac, randomBytes } from "node:crypto";
import { createStoredKeys, type StackReference } from "@stackwright/core";
import { DriftHook, StateObject, StateObject_Mode } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { memberPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { driftHookPlace, driftHookSecrets } from "../drift/drift-hook.ts";
import { sealProjectSecret } from "../queue/project-secrets.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { DeliveryLimits } from "./delivery-limits.ts";
import { driftHookPlugin } from "./drift-hook-plugin.ts";

const SECRET = "a-secret-of-the-webhook";

/** Two stacks that were applied, and a hook for all of them, and one for the first. */
async function start() {
  const storage = createMemoryStorage();
  const { parts, put, clock, stack } = createRunFixture(storage);
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  const references: StackReference[] = [];
  for (const name of ["one", "two"]) {
    const reference = await stack(name);
    references.push(reference);
    await transact(parts, async (tx) => {
      tx.update(await readQueue(tx, reference), { configuration: CONFIGURATION });
    });
    const mode = StateObject_Mode.MODE_MANAGED;
    const object = StateObject.create({ address: "x.a", type: "x", mode });
    await put(recordKind("StateObject", StateObject), memberPlace(reference, "1"), object);
  }
  for (const [name, stacks] of [
    ["all", []],
    ["first", ["one"]],
  ] as const) {
    const reference = { account: "acme", project: "web", name };
    const secret = await transact(parts, async (tx) =>
      sealProjectSecret(tx, keys, { ...driftHookSecrets(reference), path: [name] }, SECRET),
    );
    const hook = DriftHook.create({ id: name, name, secret, stacks: [...stacks], actor: "ann" });
    await put(SERVER_KINDS.driftHook, driftHookPlace(reference), hook);
  }
  const app = fastify();
  onTestFinished(async () => app.close());
  await app.register(driftHookPlugin, { ...parts, keys, limits: new DeliveryLimits(clock) });
  const send = async (
    hook: string,
    payload: string,
    { secret = SECRET, remoteAddress = "192.0.2.1", signed = payload } = {},
  ) => {
    const signature = createHmac("sha256", secret).update(signed).digest("hex");
    const answer = await app.inject({
      method: "POST",
      url: `/acme/web/${hook}`,
      remoteAddress,
      payload,
      headers: { "x-stackwright-signature": `sha256=${signature}`, "content-type": "text/plain" },
    });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
  const asked = async (index: number) => {
    const [place] = references.slice(index).map(stackPlace);
    if (place === undefined) throw new Error("no stack");
    const found = await storage.read("strong", idOf(SERVER_KINDS.drift, place));
    return decodeRecord(SERVER_KINDS.drift, found).asked;
  };
  return { app, send, asked };
}

it("a signed delivery asks for a check of its stack, once", async () => {
  const { send, asked } = await start();
  const body = JSON.stringify({ id: "e1", stack: "two", resources: ["x.a"], source: "cloud" });
  const answer = await send("all", body);
  expect(answer).toMatchObject({ status: 202, body: { stack: "two", repeated: false } });
  expect(await send("all", body)).toEqual({
    status: 202,
    body: { ...answer.body, repeated: true },
  });
  expect(await asked(1)).toMatchObject({
    run: answer.body["run"],
    resources: ["x.a"],
    actor: "ann",
  });
  // A hook for one stack needs no name of it.
  expect(await send("first", '{"id": "e1"}')).toMatchObject({
    status: 202,
    body: { stack: "one" },
  });
  expect(await asked(0)).toMatchObject({ resources: [] });
});

it("what is not signed is refused before it is read, and a signed one that is wrong says what is", async () => {
  const { app, send } = await start();
  const good = '{"id": "e1", "stack": "one"}';
  const unsigned = await app.inject({ method: "POST", url: "/acme/web/all", payload: good });
  expect(unsigned.statusCode).toBe(401);
  const forged = await send("all", good, { secret: "another-secret-of-it" });
  const other = await send("all", '{"id": "e2", "stack": "one"}', { signed: good });
  const unknown = await send("none", good);
  // Whether there is such a hook is not said.
  for (const { status, body } of [forged, other, unknown]) {
    expect([status, body["detail"]]).toEqual([401, "the delivery has no valid signature"]);
  }
  const wrong = {
    "not JSON": 400,
    "[]": 400,
    '{"stack": "one"}': 400,
    '{"id": "e1"}': 400,
    '{"id": "e1", "stack": "one", "resources": "x.a"}': 400,
    '{"id": "e1", "stack": "three"}': 404,
    '{"id": "e1", "stack": "one", "resources": ["x.b"]}': 422,
  };
  for (const [body, status] of Object.entries(wrong)) {
    expect([body, (await send("all", body)).status]).toEqual([body, status]);
  }
  expect((await send("first", '{"id": "e1", "stack": "two"}')).status).toBe(404);
  const large = JSON.stringify({ id: "x".repeat(70_000) });
  for (const hook of ["all", "none"]) expect((await send(hook, large)).status).toBe(413);
});

it("forged deliveries count against their sender, and signed ones against their hook", async () => {
  const { send } = await start();
  const body = '{"id": "e1", "stack": "one"}';
  const forged: number[] = [];
  const unknown: number[] = [];
  for (let at = 0; at < 150; at += 1) {
    unknown.push((await send("none", body, { remoteAddress: "192.0.2.8" })).status);
    const sent = await send("all", body, { secret: "another-secret", remoteAddress: "192.0.2.7" });
    forged.push(sent.status);
  }
  expect(forged.filter((status) => status === 401)).toHaveLength(100);
  // Nor does the number of refusals say whether there is such a hook.
  expect(unknown).toEqual(forged);
  const signed: number[] = [];
  for (let at = 0; at < 201; at += 1) {
    signed.push((await send("all", body, { remoteAddress: `192.0.2.${10 + (at % 9)}` })).status);
  }
  expect(signed.filter((status) => status === 202)).toHaveLength(200);
  expect(signed.at(-1)).toBe(429);
});
