import { randomBytes } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, openChannel, startServer } from "@stackwright/proto/grpc";
import { BlobsService, StorageService, WriteBlobRequest } from "@stackwright/proto/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDirectoryBlobs } from "../../blob/index.ts";
import { createBlobsService, createRemoteBlobs } from "../../blob/remote.ts";
import { resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { A1, BILLING, EVERYWHERE, HOME, sample } from "../../testing/samples.ts";
import { createMemoryStorage } from "../memory.ts";
import { createRemoteStorage, createStorageService, type Grant } from "../remote.ts";

const MIB = 1024 * 1024;
const SECRET = { group: "test", groupVersion: "v1", kind: "Secret" };
const RECORD = { group: "test", groupVersion: "v1", kind: "Record" };

async function serve(grants: Map<string, Grant | Error>) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "access-")));
  const storage = stack.use(createMemoryStorage());
  const blobs = stack.use(await createDirectoryBlobs({ directory: scratch.path }));
  const asked: (string | undefined)[] = [];
  const authorize = async (token: string | undefined): Promise<Grant | undefined> => {
    asked.push(token);
    const grant = grants.get(token ?? "");
    if (grant instanceof Error) throw grant;
    return grant;
  };
  const access = { authorize, recheckMs: 10 };
  const protect = {
    type: SECRET,
    isProtected: ({ metadata }: Resource) => metadata["owner"] === "server",
  };
  const server = stack.use(
    await startServer({
      services: [
        createStorageService({ storage, appendOnly: [RECORD], protect, ...access }),
        createBlobsService({ blobs, ...access }),
      ],
    }),
  );
  const { address } = server;
  const open = async (token: string) => stack.use(await createRemoteStorage({ address, token }));
  const openBlobs = async (token: string) => stack.use(await createRemoteBlobs({ address, token }));
  const client = (token: string) => {
    const metadata = { authorization: `Bearer ${token}` };
    const channel = stack.use(openChannel(address));
    return {
      storage: createClient(StorageService, channel, { metadata }),
      blobs: createClient(BlobsService, channel, { metadata }),
    };
  };
  return { storage, asked, open, openBlobs, client };
}

describe("kinds of a scope", () => {
  const grants = new Map<string, Grant>([
    ["home", { scopes: [{ tenancy: HOME, kinds: [A1] }] }],
    ["all", { scopes: "all" }],
  ]);

  it("bound what is read, written, listed, watched and guarded", async () => {
    const { storage, open } = await serve(grants);
    const secret = await storage.writeCAS(sample(SECRET, HOME, "key"));
    const seen = await storage.writeCAS(sample(A1, HOME, "web"));
    const home = await open("home");
    assertSame(await home.read("strong", seen.id), seen);
    const guards = [{ id: secret.id, version: secret.version }];
    for (const attempt of [
      home.read("strong", secret.id),
      home.writeCAS(secret),
      home.deleteCAS(secret.id, secret.version),
      home.batch([{ kind: "delete", id: secret.id, version: secret.version }]),
      home.writeCAS(seen, { guards }),
      home.list("strong", SECRET, HOME, ""),
      home.list("strong", SECRET, EVERYWHERE, ""),
      home.watchList(SECRET, HOME, ""),
    ]) {
      await assertCode(attempt, "STORAGE_PERMISSION_DENIED");
    }
    expect(await home.list("strong", A1, EVERYWHERE, "")).toEqual([seen]);
  });

  it("leave out what a resource owns of other kinds", async () => {
    const { storage, open } = await serve(grants);
    const owner = await storage.writeCAS(sample(A1, HOME, "owner"));
    await storage.writeCAS(sample(SECRET, HOME, "key", { owner: owner.id }));
    const child = await storage.writeCAS(sample(A1, HOME, "web", { owner: owner.id }));
    expect(await (await open("home")).listByOwner(owner.id)).toEqual([child]);
  });

  it("never let anybody change or delete what is append-only", async () => {
    const { open } = await serve(grants);
    const all = await open("all");
    const record = await all.writeCAS(sample(RECORD, HOME, "1"));
    for (const attempt of [
      all.writeCAS(record),
      all.deleteCAS(record.id, record.version),
      all.batch([{ kind: "write", resource: record }]),
      all.batch([{ kind: "delete", id: record.id, version: record.version }]),
    ]) {
      await assertCode(attempt, "STORAGE_PERMISSION_DENIED");
    }
    assertSame(await all.read("strong", record.id), record);
  });
});

describe("a call without a valid token", () => {
  it("costs one question, and its request is not read", async () => {
    const { asked, client } = await serve(new Map());
    const { storage, blobs } = client("wrong");
    const data = { typeUrl: "t", value: new Uint8Array(3 * MIB) };
    const resource = resourceToMessage(sample(A1, HOME, "web", { data }));
    let taken = 0;
    const endless = async function* () {
      for (;;) {
        taken += 1;
        yield WriteBlobRequest.create({ step: { $case: "chunk", value: new Uint8Array(MIB) } });
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    for (const call of [storage.writeCas({ resource, guards: [] }), blobs.writeBlob(endless())]) {
      await expect(call).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    }
    expect(asked).toEqual(["wrong", "wrong"]);
    expect(taken).toBeLessThan(50);
  });
});

describe("requests", () => {
  const grants = new Map<string, Grant>([["all", { scopes: "all" }]]);

  it("of more than 4 MiB are refused whole and taken in pieces", async () => {
    const { storage, open, client } = await serve(grants);
    const large = (name: string, bytes: number) =>
      sample(A1, HOME, name, { data: { typeUrl: "t", value: randomBytes(bytes) } });
    const resource = large("web", 7 * MIB);
    const call = client("all").storage.writeCas({
      resource: resourceToMessage(resource),
      guards: [],
    });
    await expect(call).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    const all = await open("all");
    const written = await all.writeCAS(resource);
    assertSame(await storage.read("strong", written.id), written);
    const batch = [1, 2, 3, 4].map((i) => large(`part-${i}`, 5 * MIB));
    const operations = batch.map((one) => ({ kind: "write", resource: one }) as const);
    const stored = await all.batch(operations);
    for (const one of stored) {
      if (one !== undefined) assertSame(await storage.read("strong", one.id), one);
    }
    // Judged as a small one would be: by the version.
    await assertCode(all.writeCAS(resource), "STORAGE_CAS_FAILURE");
    const error = await assertCode(all.batch(operations), "STORAGE_CAS_FAILURE");
    expect(error.details.index).toBe(0);
  });

  it("in pieces need the rights and the size that they announce", async () => {
    const { client } = await serve(
      new Map([["home", { scopes: [{ tenancy: HOME, kinds: [A1] }] }]]),
    );
    const { storage } = client("home");
    const send = async (steps: Parameters<typeof storage.writeLarge>[0]) => {
      for await (const _ of storage.writeLarge(steps));
    };
    const piece = { step: { $case: "piece", value: new Uint8Array(1) } } as const;
    const commit = (size: bigint) =>
      ({ step: { $case: "commit", value: { size, method: 1 } } }) as const;
    await expect(send([piece])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(send([piece, commit(2n)])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const much = Array.from({ length: 50 }, () => ({
      step: { $case: "piece", value: new Uint8Array(MIB) } as const,
    }));
    await expect(send(much)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    const { WriteCasRequest } = await import("@stackwright/proto/storage");
    const request = { resource: resourceToMessage(sample(A1, BILLING, "web")), guards: [] };
    const bytes = WriteCasRequest.encode(request).finish();
    const whole = { step: { $case: "piece", value: bytes } } as const;
    await expect(send([whole, commit(BigInt(bytes.length))])).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
    });
  });
});

describe("open streams", () => {
  it("end when the token is revoked, and when it allows something else", async () => {
    const grants = new Map<string, Grant>([
      ["a", { scopes: [{ tenancy: HOME }], blobs: "write" }],
      ["b", { scopes: [{ tenancy: HOME }] }],
      ["c", { scopes: [{ tenancy: HOME }] }],
    ]);
    const { storage, open, openBlobs } = await serve(grants);
    const watches = [];
    for (const token of ["a", "b", "c"]) {
      watches.push(await (await open(token)).watchList(A1, HOME, ""));
    }
    const [revoked, changed, kept] = watches;
    const upload = (await openBlobs("a")).write(
      (async function* () {
        yield Buffer.from("a beginning");
        await new Promise(() => undefined);
      })(),
    );
    const uploading = assertCode(upload, "STORAGE_PERMISSION_DENIED");
    if (!revoked || !changed || !kept) throw new Error("no watches");
    const endings = [
      assertCode(revoked.next(), "STORAGE_WATCH_CLOSED"),
      assertCode(changed.next(), "STORAGE_WATCH_CLOSED"),
    ];
    grants.delete("a");
    grants.set("b", { scopes: [{ tenancy: BILLING }] });
    for (const error of await Promise.all(endings)) expect(error.message).toMatch(/token/);
    await uploading;
    const event = await storage.writeCAS(sample(A1, HOME, "web"));
    assertSame(await nextUpsert(kept), event);
    const { details } = await assertCode(open("a"), "STORAGE_PERMISSION_DENIED");
    expect(details).toEqual({ field: "token" });
  });

  it("continue for a while when it cannot be asked whether the token is valid", async () => {
    const grants = new Map<string, Grant | Error>([["a", { scopes: "all" }]]);
    const { storage, asked, open } = await serve(grants);
    using watch = await (await open("a")).watchList(A1, HOME, "");
    grants.set("a", new StorageError("STORAGE_INCONSISTENT"));
    const before = asked.length;
    while (asked.length < before + 5) await new Promise((resolve) => setTimeout(resolve, 5));
    const event = await storage.writeCAS(sample(A1, HOME, "web"));
    assertSame(await nextUpsert(watch), event);
  });
});

describe("what a token adds alone", () => {
  const grants = new Map<string, Grant>([
    [
      "adds",
      {
        scopes: [{ tenancy: HOME, kinds: [A1], access: "create" }],
        blobs: "write",
        maxBlobBytes: 100_000,
      },
    ],
  ]);

  it("is created and read, and neither changed nor deleted", async () => {
    const { storage, open } = await serve(grants);
    const adds = await open("adds");
    const made = await adds.writeCAS(sample(A1, HOME, "mine"));
    assertSame(await adds.read("strong", made.id), made);
    const other = await storage.writeCAS(sample(A1, HOME, "other"));
    for (const attempt of [
      adds.writeCAS(made),
      adds.writeCAS(other),
      adds.deleteCAS(made.id, made.version),
      adds.batch([
        { kind: "write", resource: sample(A1, HOME, "more") },
        { kind: "delete", id: other.id, version: other.version },
      ]),
    ]) {
      await assertCode(attempt, "STORAGE_PERMISSION_DENIED");
    }
    await assertCode(adds.writeCAS(sample(A1, HOME, "other")), "STORAGE_CAS_FAILURE");
    assertSame(await storage.read("strong", other.id), other);
  });

  it("is bounded in the blobs that it writes", async () => {
    const { openBlobs } = await serve(grants);
    const blobs = await openBlobs("adds");
    await blobs.write(Buffer.alloc(60_000, "a"));
    await assertCode(blobs.write(Buffer.alloc(60_000, "b")), "STORAGE_QUOTA_EXCEEDED");
    await assertCode(blobs.write(Buffer.alloc(1, "c")), "STORAGE_QUOTA_EXCEEDED");
  });
});

describe("a protected resource", () => {
  it("is made, changed and deleted by no token, whatever else a batch does", async () => {
    const { storage, open } = await serve(new Map<string, Grant>([["all", { scopes: "all" }]]));
    const all = await open("all");
    const protectedOne = { ...sample(SECRET, HOME, "kept"), metadata: { owner: "server" } };
    const kept = await storage.writeCAS(protectedOne);
    const free = await all.writeCAS({ ...sample(SECRET, HOME, "free"), metadata: {} });
    for (const attempt of [
      all.writeCAS({ ...kept, metadata: {} }),
      all.writeCAS({ ...free, metadata: { owner: "server" } }),
      all.writeCAS({ ...sample(SECRET, HOME, "new"), metadata: { owner: "server" } }),
      all.deleteCAS(kept.id, kept.version),
      all.batch([
        { kind: "write", resource: sample(A1, HOME, "beside") },
        { kind: "delete", id: kept.id, version: kept.version },
      ]),
      all.batch([{ kind: "write", resource: { ...kept, metadata: {} } }]),
    ]) {
      await assertCode(attempt, "STORAGE_PERMISSION_DENIED");
    }
    assertSame(await storage.read("strong", kept.id), kept);
    const guards = [{ id: kept.id, version: kept.version }];
    await all.deleteCAS(free.id, free.version, { guards });
  });
});
