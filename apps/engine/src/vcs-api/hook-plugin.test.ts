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
const GITEA = { ...REFERENCE, name: "gitea" };

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
  await put(SERVER_KINDS.vcsConnection, connectionPlace(GITEA), {
    ...connection,
    name: GITEA.name,
    kind: VcsConnection_Kind.KIND_GITEA,
    repository: "acme/infra",
  });
  const app = fastify();
  onTestFinished(async () => app.close());
  await app.register(hookPlugin, { ...parts, keys, limits: new DeliveryLimits(clock) });
  /** Sends a push of Gitea with headers as given; resolves with the status and what is stored of all of them. */
  const push = async (payload: string, headers: Record<string, string>) => {
    const given = { "content-type": "application/json", "x-gitea-event": "push", ...headers };
    const url = `/acme/web/${GITEA.name}`;
    const { statusCode } = await app.inject({ method: "POST", url, payload, headers: given });
    const { type } = SERVER_KINDS.vcsDelivery;
    const stored = await storage.list("strong", type, connectionPlace(GITEA).tenancy, "");
    return [statusCode, stored.length];
  };
  let count = 0;
  const deliver = async (
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
  return { deliver, push };
}

const PUSH = JSON.stringify({ ref: "refs/heads/main", repository: { full_name: "acme/infra" } });
const signed = (text: string, secret = SECRET): string =>
  createHmac("sha256", secret).update(text).digest("hex");

it("counts forged deliveries against their sender, and not against the connection", async () => {
  const { deliver } = await start();
  const answers: number[] = [];
  for (let at = 0; at < 250; at += 1) answers.push(await deliver("192.0.2.7", "another-secret"));
  expect(answers.filter((status) => status === 401)).toHaveLength(100);
  expect(answers.filter((status) => status === 429)).toHaveLength(150);
  expect(await deliver("192.0.2.8", SECRET)).toBe(202);
});

it("does not say whether there is a connection: a body is bounded and a sender counted just so", async () => {
  const { deliver } = await start();
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
  const { deliver } = await start();
  const answers: number[] = [];
  for (let at = 0; at < 201; at += 1) answers.push(await deliver(`192.0.2.${at % 9}`, SECRET));
  expect(answers.filter((status) => status === 202)).toHaveLength(200);
  expect(answers.at(-1)).toBe(429);
});

it.each(["x-gitea-signature", "x-forgejo-signature"])(
  "takes of a connection to Gitea what %s signs with its secret, and nothing else",
  async (header) => {
    const { push } = await start();
    const right = signed(PUSH);
    for (const forged of [
      signed(PUSH, "another-secret"),
      signed(`${PUSH} `),
      signed(PUSH, ""),
      right.slice(0, -2),
      `${right}00`,
      `sha1=${right}`,
      Buffer.from(right, "hex").toString("base64"),
      "0".repeat(64),
      "",
    ]) {
      expect([forged, ...(await push(PUSH, { [header]: forged }))]).toEqual([forged, 401, 0]);
    }
    expect(await push(`${PUSH} `, { [header]: right })).toEqual([401, 0]);
    expect(await push(PUSH, { [header]: right })).toEqual([202, 1]);
    expect(await push(PUSH, { [header]: right.toUpperCase() })).toEqual([202, 1]);
  },
);

it("takes of a connection to Gitea no signature of another kind, and none beside a forged one", async () => {
  const { push } = await start();
  const right = signed(PUSH);
  for (const header of ["x-hub-signature-256", "x-stackwright-signature", "x-gitlab-token"]) {
    expect([header, ...(await push(PUSH, { [header]: right }))]).toEqual([header, 401, 0]);
  }
  const forged = signed(PUSH, "another-secret");
  const both = { "x-forgejo-signature": forged, "x-gitea-signature": right };
  expect(await push(PUSH, both)).toEqual([401, 0]);
  // Forgejo sends both, and these are equal.
  expect(await push(PUSH, { ...both, "x-forgejo-signature": right })).toEqual([202, 1]);
});
