import { createHmac, randomBytes } from "node:crypto";
import { createStoredKeys } from "@stackwright/core";
import { VcsConnection, VcsConnection_Kind } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { sealSecret } from "../vcs/connection-secrets.ts";
import { connectionPlace } from "../vcs/vcs-places.ts";
import { DeliveryLimits } from "./delivery-limits.ts";
import { hookPlugin } from "./hook-plugin.ts";

const SECRET = "a-secret-of-the-webhook";
const REFERENCE = { account: "acme", project: "web", name: "infra" };

async function start() {
  const storage = createMemoryStorage();
  const { parts, put, clock } = createRunFixture(storage);
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  const sealed = await transact(parts, async (tx) =>
    sealSecret(tx, keys, REFERENCE, ["ID", "webhook_secret"], SECRET),
  );
  const connection = VcsConnection.fromPartial({
    id: "ID",
    name: "infra",
    kind: VcsConnection_Kind.KIND_GENERIC,
    branch: "main",
    webhookSecret: sealed,
  });
  const lost = { ...REFERENCE, name: "lost" };
  // It was encrypted with keys that are gone.
  const unreadable = { ...connection, id: "LOST", name: "lost", webhookSecret: randomBytes(60) };
  await put(SERVER_KINDS.vcsConnection, connectionPlace(lost), unreadable);
  await put(SERVER_KINDS.vcsConnection, connectionPlace(REFERENCE), connection);
  const app = fastify();
  onTestFinished(async () => app.close());
  await app.register(hookPlugin, { ...parts, keys, limits: new DeliveryLimits(clock) });
  let count = 0;
  return async (
    remoteAddress: string,
    secret: string,
    { connection: name = "infra", header = "x-stackwright-signature", padding = "" } = {},
  ): Promise<number> => {
    count += 1;
    const time = clock.wallMs() / 1_000;
    const payload = JSON.stringify({ ref: "refs/heads/main", time, count, padding });
    const signature = createHmac("sha256", secret).update(payload).digest("hex");
    const answer = await app.inject({
      method: "POST",
      url: `/acme/web/${name}`,
      remoteAddress,
      payload,
      headers: { [header]: signature, "content-type": "application/json" },
    });
    return answer.statusCode;
  };
}

it("counts forged deliveries against their sender, and not against the connection", async () => {
  const deliver = await start();
  const answers: number[] = [];
  for (let at = 0; at < 250; at += 1) answers.push(await deliver("192.0.2.7", "another-secret"));
  expect(answers.filter((status) => status === 401)).toHaveLength(100);
  expect(answers.filter((status) => status === 429)).toHaveLength(150);
  expect(await deliver("192.0.2.8", SECRET)).toBe(202);
});

it("does not say whether there is a connection: a body is bounded and a sender counted just so", async () => {
  const deliver = await start();
  const padding = "x".repeat(1_100_000);
  // Whichever kind the connection is of.
  for (const header of ["x-stackwright-signature", "x-hub-signature-256"]) {
    for (const connection of ["infra", "none", "lost"]) {
      const status = await deliver("192.0.2.6", "another-secret", { connection, header, padding });
      expect([header, connection, status]).toEqual([header, connection, 413]);
    }
    const answers: Record<string, number[]> = { infra: [], none: [], lost: [] };
    for (const [connection, statuses] of Object.entries(answers)) {
      const address = `${header}.${connection}`;
      for (let at = 0; at < 101; at += 1) {
        statuses.push(await deliver(address, "another-secret", { connection, header }));
      }
    }
    expect(answers["none"]).toEqual(answers["infra"]);
    expect(answers["lost"]).toEqual(answers["infra"]);
    expect(answers["none"]?.slice(-2)).toEqual([401, 429]);
  }
  const plain = { header: "x-other" };
  for (const connection of ["infra", "none"]) {
    expect(await deliver("192.0.2.5", SECRET, { ...plain, connection, padding })).toBe(401);
  }
});

it("bounds the signed deliveries of a connection, from whatever address", async () => {
  const deliver = await start();
  const answers: number[] = [];
  for (let at = 0; at < 201; at += 1) answers.push(await deliver(`192.0.2.${at % 9}`, SECRET));
  expect(answers.filter((status) => status === 202)).toHaveLength(200);
  expect(answers.at(-1)).toBe(429);
});
