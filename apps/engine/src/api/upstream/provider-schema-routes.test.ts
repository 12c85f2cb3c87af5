import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import * as t6 from "@stackwright/proto/tfplugin6";
import { createRemoteBlobs } from "@stackwright/storage/blob/remote";
import { sortedSchema } from "@stackwright/tfplugin";
import { expect, it, onTestFinished } from "vitest";
import { acquireRemoteLease, otherWorkerId } from "../../testing/remote-lease.ts";
import { P, S, startApi } from "../../testing/start-api.ts";
import { WORKER_PROTOCOL } from "../../worker/remote-protocol.ts";

const SCHEMAS = "/api/v1/registry/provider-schemas";
const SOURCE = "registry.terraform.io/acme/lab";

/** A schema with a resource of some attributes, as `type mode`. */
function schemaOf(attributes: Readonly<Record<string, string>>): Uint8Array {
  const block = {
    attributes: Object.entries(attributes).map(([name, text]) => {
      const [type = "", mode = ""] = text.split(" ");
      return { name, type: Buffer.from(JSON.stringify(type)), [mode]: true };
    }),
  };
  const answer = t6.GetProviderSchema_Response.fromPartial({
    provider: { block: {} },
    resourceSchemas: new Map([["lab_thing", { version: 0n, block }]]),
  });
  return sortedSchema(t6.GetProviderSchema_Response.encode(answer).finish());
}

/** A worker with the claim of a run, which stores and hands in schemas with the token of the claim. */
async function start() {
  const api = await startApi("none", { storagePort: 0 });
  const { call, upload, server, tokenOf } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest: configuration } = (await upload()).json;
  await call("POST", `${S}/runs`, { body: { configuration } });
  const port = server.storagePort ?? 0;
  const workerToken = await tokenOf("worker");
  const { json: endpoint } = await call("GET", "/api/v1/worker", { token: workerToken });
  const worker = otherWorkerId(String(endpoint["worker_prefix"]));
  const lease = await acquireRemoteLease(port, workerToken, worker);
  const body = { protocol: WORKER_PROTOCOL, worker, fence: lease.guard.version, request: 1 };
  const claim = (await call("POST", "/api/v1/worker/claims", { token: workerToken, body })).json;
  const [run, token] = [String(claim["run"]), String(claim["token"])];
  const blobs = await createRemoteBlobs({ address: { host: "127.0.0.1", port }, token });
  onTestFinished(async () => blobs.close());
  const path = `/api/v1/worker/claims/${run}/schemas`;
  const ask = async (given: object, as = token) => call("POST", path, { token: as, body: given });
  const offer = (version: string, schema: Uint8Array) => ({
    source: SOURCE,
    version,
    protocol: 6,
    digest: createHash("sha256").update(schema).digest("hex"),
    bytes: schema.length,
  });
  const store = async (content: Uint8Array) => {
    const { sha256, size: bytes } = await blobs.write(content, { owner: "default" });
    return { sha256, bytes };
  };
  const handIn = async (version: string, schema: Uint8Array) =>
    ask({ ...offer(version, schema), blob: await store(gzipSync(schema)) });
  const compare = async (from: string, to: string, as?: string) =>
    call("GET", `${SCHEMAS}/changes?provider=${SOURCE}&from=${from}&to=${to}`, { token: as });
  return { ...api, path, ask, offer, store, handIn, compare, workerToken };
}

const FIRST = schemaOf({ id: "string computed", size: "number optional", old: "string optional" });
const LATER = schemaOf({ id: "string computed", size: "string required", tag: "string optional" });

it("a run hands in what the server has not, and two versions are compared by it", {
  timeout: 120_000,
}, async () => {
  const { ask, offer, handIn, compare, call, tokenOf } = await start();
  expect((await ask(offer("1.0.0", FIRST))).json).toEqual({ answer: "wanted" });
  const none = await compare("1.0.0", "1.1.0");
  expect([none.status, none.json["detail"]]).toEqual([
    404,
    `the server has no schema of version 1.0.0 of ${SOURCE}; it gets one when a run uses it`,
  ]);
  expect((await handIn("1.0.0", FIRST)).json).toEqual({ answer: "known" });
  expect((await ask(offer("1.0.0", FIRST))).json).toEqual({ answer: "known" });
  expect((await compare("1.0.0", "1.1.0")).json["detail"]).toContain("version 1.1.0");
  expect((await handIn("1.1.0", LATER)).json).toEqual({ answer: "known" });

  const compared = await compare("1.0.0", "1.1.0");
  expect(compared.status, compared.text).toBe(200);
  const of = { of: "resource", name: "lab_thing" };
  expect(compared.json).toMatchObject({
    source: SOURCE,
    changes: [
      { ...of, path: "old", change: "removed", breaks: true },
      { ...of, path: "size", change: "type", before: "number", after: "string", breaks: true },
      { ...of, path: "size", change: "mode", before: "optional", after: "required", breaks: true },
      { ...of, path: "tag", change: "added", after: "string, optional", breaks: false },
    ],
    total: 4,
    breaking: 3,
    uses: [],
  });
  // Who reads another project alone compares as well, and learns of no stack.
  const reader = await tokenOf("reader", ["other"]);
  expect((await compare("1.0.0", "1.1.0", reader)).json).toMatchObject({ total: 4, uses: [] });
  expect((await compare("1.0.0", "1.0.0")).json).toMatchObject({ total: 0 });
  const listed = (await call("GET", `${SCHEMAS}?provider=acme/lab`)).json["schemas"];
  expect(listed).toMatchObject([
    { provider: SOURCE, version: "1.0.0", bytes: FIRST.length },
    { provider: SOURCE, version: "1.1.0", bytes: LATER.length },
  ]);
  expect((await call("GET", `${SCHEMAS}?provider=acme/other`)).json["schemas"]).toEqual([]);
});

it("no run replaces a schema: that it had another one is noted, until an administrator forgets the first", {
  timeout: 120_000,
}, async () => {
  const { ask, offer, handIn, call, tokenOf } = await start();
  await handIn("1.0.0", FIRST);
  const digest = offer("1.0.0", FIRST).digest;
  const other = offer("1.0.0", LATER).digest;
  expect((await ask(offer("1.0.0", LATER))).json).toEqual({ answer: "other" });
  expect((await handIn("1.0.0", LATER)).json).toEqual({ answer: "other" });
  const list = async () => (await call("GET", SCHEMAS)).json["schemas"];
  expect(await list()).toMatchObject([{ digest, other: { digest: other } }]);
  const body = { provider: SOURCE, version: "1.0.0" };
  const removal = async (token?: string) => call("POST", `${SCHEMAS}/removals`, { body, token });
  expect((await removal(await tokenOf("publisher"))).status).toBe(403);
  expect((await removal()).status).toBe(204);
  expect((await removal()).status).toBe(404);
  expect(await list()).toEqual([]);
  expect((await handIn("1.0.0", LATER)).json).toEqual({ answer: "known" });
});

it("only the claim of a run hands in, what it stored, of a provider that exists, in a bounded size", {
  timeout: 120_000,
}, async () => {
  const { ask, offer, store, path, call, first, workerToken } = await start();
  const offered = offer("1.0.0", FIRST);
  for (const token of [first.token, workerToken, "nothing"]) {
    expect([401, 403]).toContain((await ask(offered, token)).status);
  }
  // Another run than that of the token.
  const elsewhere = path.replace(/claims\/[^/]+/, "claims/another");
  expect((await call("POST", elsewhere, { token: first.token, body: offered })).status).not.toBe(
    200,
  );
  const refused = async (given: object) => (await ask({ ...offered, ...given })).json["answer"];
  expect(await refused({ bytes: 32 * 1024 * 1024 + 1 })).toBe("refused");
  const blob = await store(gzipSync(FIRST));
  expect(await refused({ blob: { ...blob, bytes: 8 * 1024 * 1024 + 1 } })).toBe("refused");
  const code = async (given: object) => {
    const answer = await ask({ ...offered, ...given });
    return [answer.status, answer.json["code"]];
  };
  const invalid = [400, "invalid_request"];
  expect(await code({ source: "acme/lab" })).toEqual(invalid);
  expect(await code({ source: "not a provider" })).toEqual(invalid);
  expect(await code({ version: ">= 1" })).toEqual(invalid);
  expect(await code({ digest: "short" })).toEqual(invalid);
  // Another content, none that is compressed, and one that is larger than it says.
  const unusable = [422, "unprocessable"];
  expect(await code({ blob: await store(gzipSync(LATER)) })).toEqual(unusable);
  expect(await code({ blob: await store(FIRST) })).toEqual(unusable);
  expect(await code({ blob: { ...blob, bytes: blob.bytes - 1 } })).toEqual(unusable);
  expect(await code({ blob: { ...blob, sha256: "ab".repeat(32) } })).toEqual(unusable);
  const bomb = await store(gzipSync(Buffer.alloc(4 * 1024 * 1024)));
  expect(await code({ blob: bomb })).toEqual(unusable);
  expect((await call("GET", SCHEMAS)).json["schemas"]).toEqual([]);
});

it("what is stored and is no schema is not compared", { timeout: 120_000 }, async () => {
  const { handIn, compare } = await start();
  await handIn("1.0.0", FIRST);
  expect((await handIn("1.1.0", Uint8Array.of(255))).json).toEqual({ answer: "known" });
  const answer = await compare("1.0.0", "1.1.0");
  expect([answer.status, answer.json["code"]]).toEqual([422, "unprocessable"]);
  expect(answer.json["detail"]).toContain("an administrator of the account removes it");
});
