import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createClient,
  createSelfSignedIdentity,
  openChannel,
  type RpcServer,
  startServer,
} from "@stackwright/proto/grpc";
import { BlobsService, WriteBlobRequest } from "@stackwright/proto/storage";
import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../../engine/memory.ts";
import { createRemoteStorage, createStorageService, type Grant } from "../../engine/remote.ts";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import { type BlobHarness, describeBlobs } from "../../testing/describe-blobs.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { type BlobStoreOptions, createDirectoryBlobs, createSqliteBlobs } from "../index.ts";
import { createBlobsService, createRemoteBlobs } from "../remote.ts";
import type { BlobStore } from "../types.ts";

async function createHarness(): Promise<BlobHarness> {
  const directory = await mkdtemp(join(tmpdir(), "stackwright-blobs-"));
  let served: { readonly blobs: BlobStore; readonly server: RpcServer } | undefined;
  return {
    open: async (options) => {
      // Other options are those of another run of the server.
      if (served !== undefined && options?.ownerQuotaBytes !== undefined) {
        await served.server.close();
        await served.blobs.close();
        served = undefined;
      }
      if (served === undefined) {
        const blobs = await createSqliteBlobs({ directory, ...options });
        const authorize = () => ({ scopes: "all" }) as const;
        const server = await startServer({ services: [createBlobsService({ blobs, authorize })] });
        served = { blobs, server };
      }
      return createRemoteBlobs({ address: served.server.address });
    },
    collect: async (options) => {
      if (served === undefined) throw new Error("there is no store yet");
      return served.blobs.collect(options);
    },
    [Symbol.asyncDispose]: async () => {
      await served?.server.close();
      await served?.blobs.close();
      await rm(directory, { recursive: true });
    },
  };
}

describeBlobs("remote over sqlite", createHarness, { damage: false });

const GRANTS: Readonly<Record<string, Grant>> = {
  all: { scopes: "all" },
  careful: { scopes: "all", blobs: "read" },
  scoped: { scopes: [{ tenancy: HOME }] },
  reader: { scopes: [{ tenancy: HOME }], blobs: "read" },
  writer: { scopes: [{ tenancy: HOME }], blobs: "write" },
  site: { scopes: [{ tenancy: { ...HOME, partition: "*" } }], blobs: "write" },
};
const authorize = (token: string | undefined) => GRANTS[token ?? ""];
const sha256 = "0".repeat(64);

async function serve(options: BlobStoreOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), "stackwright-blobs-"));
  const blobs = await createDirectoryBlobs({ directory, ...options });
  const server = await startServer({ services: [createBlobsService({ blobs, authorize })] });
  const { address } = server;
  const close = async (): Promise<void> => {
    await server.close();
    await blobs.close();
    await rm(directory, { recursive: true });
  };
  const open = (token: string) => createRemoteBlobs({ address, token });
  return { blobs, server, address, open, [Symbol.asyncDispose]: close };
}

describe("a blob service", () => {
  test("lets a token do in the blob store what its grant says, and by default nothing", async () => {
    await using service = await serve();
    const { address } = service;
    await assertCode(createRemoteBlobs({ address }), "STORAGE_PERMISSION_DENIED");
    await assertCode(service.open("wrong"), "STORAGE_PERMISSION_DENIED");
    await assertCode(service.open("scoped"), "STORAGE_PERMISSION_DENIED");
    await using writer = await service.open("writer");
    const reference = await writer.write(Buffer.from("content"));
    expect(await writer.find([reference.sha256, sha256])).toEqual([reference]);
    for (const token of ["reader", "careful"]) {
      await using reader = await service.open(token);
      // Which blobs there are is only for those who see the whole store, and for their writers.
      const found = token === "careful" ? [reference] : [];
      expect(await reader.find([reference.sha256])).toEqual(found);
      expect(await textOf(reader, reference.sha256)).toBe("content");
      await assertCode(reader.write(Buffer.from("more")), "STORAGE_PERMISSION_DENIED");
    }
  });

  test("counts what a token writes against the account of its scopes", async () => {
    await using service = await serve({ ownerQuotaBytes: 10 });
    const account = HOME.partition;
    const owned = async (token: string, owner?: string) => {
      await using blobs = await service.open(token);
      return await blobs.write(randomBytes(6), owner === undefined ? {} : { owner });
    };
    await assertCode(owned("writer", "another"), "STORAGE_PERMISSION_DENIED");
    await owned("writer");
    const error = await assertCode(owned("writer", account), "STORAGE_QUOTA_EXCEEDED");
    expect(error.details).toMatchObject({ owner: account, used: 6, limit: 10, actual: 12 });
    await assertCode(owned("all", account), "STORAGE_QUOTA_EXCEEDED");
    // A token for all accounts names the one that it writes for, or none.
    await owned("site", "another");
    await assertCode(owned("site", "another"), "STORAGE_QUOTA_EXCEEDED");
    await owned("site");
    await owned("site");
  });

  test("leaves collecting to where the blobs are", async () => {
    await using service = await serve();
    await using blobs = await service.open("all");
    await assertCode(blobs.collect({ references: () => [] }), "STORAGE_UNSUPPORTED");
    expect(blobs.capabilities).toEqual({
      engine: "remote directory",
      durability: service.blobs.capabilities.durability,
      shared: true,
    });
  });

  test("takes no part for the whole: a stream without a fitting commit leaves nothing", async () => {
    await using service = await serve();
    await using channel = openChannel(service.address);
    const metadata = { authorization: "Bearer all" };
    const client = createClient(BlobsService, channel, { metadata });
    const chunk = WriteBlobRequest.create({
      step: { $case: "chunk", value: Buffer.from("content") },
    });
    const commit = (size: bigint) =>
      WriteBlobRequest.create({
        step: { $case: "commit", value: { sha256: Buffer.alloc(32), size } },
      });
    for (const requests of [[], [chunk], [chunk, commit(7n)], [chunk, commit(3n)], [commit(0n)]]) {
      await expect(client.writeBlob(requests)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    await using writer = await service.open("all");
    const { sha256: written } = await writer.write(Buffer.from("content"));
    await service.blobs.collect({ references: () => [written] });
    expect(await textOf(service.blobs, written)).toBe("content");
  });

  test("carries large blobs as they are read, many at a time", { timeout: 30_000 }, async () => {
    await using service = await serve();
    await using blobs = await service.open("all");
    const contents = Array.from({ length: 4 }, (_, i) => randomBytes(3_000_000 + i));
    const written = await Promise.all(contents.map((content) => blobs.write(content)));
    const read = await Promise.all(written.map(async (one) => bytesOf(blobs, one.sha256)));
    for (const [i, content] of contents.entries()) expect(read[i]?.equals(content)).toBe(true);
    // Only the beginning is wanted: the rest is not waited for.
    for await (const first of blobs.read(written[0]?.sha256 ?? "")) {
      expect(contents[0]?.subarray(0, first.length).equals(first)).toBe(true);
      break;
    }
  });

  test("fails reads and writes when the server goes, and when it keeps silent", async () => {
    await using service = await serve();
    const { address } = service;
    await using blobs = await createRemoteBlobs({ address, token: "all", timeoutMs: 300 });
    const silent = Promise.withResolvers<never>();
    const { blobs: store } = service;
    const find = store.find.bind(store);
    Object.assign(store, { find: () => silent.promise, write: () => silent.promise });
    await assertCode(blobs.find([sha256]), "STORAGE_INCONSISTENT");
    await assertCode(blobs.write(Buffer.from("content")), "STORAGE_INCONSISTENT");
    Object.assign(store, { find });
    expect(await blobs.find([sha256])).toEqual([]);
    const writing = assertCode(blobs.write(stalled()), "STORAGE_INCONSISTENT");
    await service.server.close({ graceMs: 0 });
    await writing;
    await assertCode(blobs.find([sha256]), "STORAGE_INCONSISTENT");
  });

  test("stands beside a storage service, with one certificate for both", async () => {
    const directory = await mkdtemp(join(tmpdir(), "stackwright-blobs-"));
    const identity = createSelfSignedIdentity();
    const client = createSelfSignedIdentity({ name: "client" });
    await using storage = createMemoryStorage();
    await using blobs = await createDirectoryBlobs({ directory });
    await using server = await startServer({
      services: [
        createStorageService({ storage, authorize }),
        createBlobsService({ blobs, authorize }),
      ],
      tls: { identity, trusted: client.certificate },
    });
    const reach = {
      address: server.address,
      token: "writer",
      tls: { trusted: identity.certificate, identity: client, serverName: "localhost" },
    };
    await using remote = await createRemoteStorage(reach);
    await using large = await createRemoteBlobs(reach);
    const { sha256: digest } = await large.write(Buffer.from("a bundle"));
    const data = { typeUrl: "t", value: Buffer.from(digest) };
    const stored = await remote.writeCAS(sample(A1, HOME, "web", { data }));
    assertSame(await remote.read("strong", stored.id), stored);
    expect(await textOf(large, digest)).toBe("a bundle");
    const strangers = [
      { ...reach, tls: { ...reach.tls, identity: createSelfSignedIdentity() } },
      { ...reach, tls: { trusted: identity.certificate, serverName: "localhost" } },
      { ...reach, tls: { ...reach.tls, trusted: client.certificate } },
      { address: server.address, token: "writer" },
    ];
    for (const stranger of strangers) {
      await assertCode(createRemoteStorage(stranger), "STORAGE_INCONSISTENT");
      await assertCode(createRemoteBlobs(stranger), "STORAGE_INCONSISTENT");
    }
    await rm(directory, { recursive: true });
  });
});

async function* stalled(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("content");
  await new Promise(() => undefined);
}

async function bytesOf(blobs: BlobStore, digest: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of blobs.read(digest)) parts.push(part);
  return Buffer.concat(parts);
}

async function textOf(blobs: BlobStore, digest: string): Promise<string> {
  return (await bytesOf(blobs, digest)).toString();
}
