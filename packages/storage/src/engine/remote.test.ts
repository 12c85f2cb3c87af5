import { startServer } from "@stackwright/proto/grpc";
import { describe, expect, test } from "vitest";
import type { StorageCapabilities } from "../capabilities.ts";
import { listPages } from "../list/list-pages.ts";
import type { Resource } from "../resource.ts";
import { assertCode, assertQuiet, assertSame, nextUpsert } from "../testing/assertions.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { describeStorage } from "../testing/describe-storage.ts";
import { overRemote } from "../testing/live/remote-harness.ts";
import { A1, A2, BILLING, EVERYWHERE, HOME, sample, sampleId } from "../testing/samples.ts";
import type { StorageBackend } from "../types.ts";
import { createMemoryStorage, MEMORY_CAPABILITIES } from "./memory.ts";
import { createRemoteStorage, createStorageService, type Grant } from "./remote.ts";

describeStorage(
  "remote over memory",
  overRemote(async () => ({
    open: async (options) => createMemoryStorage(options),
    [Symbol.asyncDispose]: async () => undefined,
  })),
  { ...MEMORY_CAPABILITIES, shared: true },
);

const GRANTS: Readonly<Record<string, Grant>> = {
  all: { scopes: "all" },
  home: { scopes: [{ tenancy: HOME, namePrefix: "web-" }] },
  reader: { scopes: [{ tenancy: EVERYWHERE, access: "read" }] },
};

async function serve() {
  const storage = createMemoryStorage();
  const authorize = (token: string | undefined) => GRANTS[token ?? ""];
  const server = await startServer({ services: [createStorageService({ storage, authorize })] });
  const open = (token?: string) =>
    createRemoteStorage({ address: server.address, ...(token === undefined ? {} : { token }) });
  const close = async (): Promise<void> => {
    await server.close();
    await storage.close();
  };
  return { storage, server, open, [Symbol.asyncDispose]: close };
}

/** Serves a store that is wrapped. */
async function serveWrapped(wrap: (inner: StorageBackend) => StorageBackend) {
  const inner = createMemoryStorage();
  const service = createStorageService({
    storage: wrap(inner),
    authorize: () => ({ scopes: "all" }),
  });
  const server = await startServer({ services: [service] });
  const storage = await createRemoteStorage({ address: server.address, token: "any" });
  return {
    inner,
    storage,
    async [Symbol.asyncDispose]() {
      await storage.close();
      await server.close();
      await inner.close();
    },
  };
}

/** A store from before there were pages. */
class Unpaged extends DelegatingStorage {
  override get capabilities(): StorageCapabilities {
    return { ...this.inner.capabilities, pagedList: false };
  }

  override listPage(): Promise<never> {
    throw new Error("is not there");
  }
}

describe("lists in pages over a service", () => {
  test("do not show a token the names that it does not cover", async () => {
    await using service = await serve();
    for (const name of ["db-secret", "web-1", "web-2", "zz-secret"]) {
      await service.storage.writeCAS(sample(A1, HOME, name));
    }
    await using storage = await service.open("home");
    const names: string[] = [];
    let continueAfter: string | undefined;
    do {
      const page = await storage.listPage("strong", A1, HOME, "", { limit: 1, continueAfter });
      names.push(...page.resources.map((one) => one.id.name));
      continueAfter = page.continuation;
      expect(Buffer.from(continueAfter ?? "", "base64url").toString("latin1")).not.toContain("web");
      expect(Buffer.from(continueAfter ?? "", "base64url").toString("latin1")).not.toContain(
        "secret",
      );
    } while (continueAfter !== undefined);
    expect(names).toEqual(["web-1", "web-2"]);
  });

  test("refuse a token a continuation that was changed, made up, or given to another token", async () => {
    await using service = await serve();
    for (const name of ["web-1", "web-2", "web-3"]) {
      await service.storage.writeCAS(sample(A1, HOME, name));
    }
    await using storage = await service.open("home");
    await using everything = await service.open("all");
    const { continuation = "" } = await storage.listPage("strong", A1, HOME, "", { limit: 1 });
    const open = await everything.listPage("strong", A1, HOME, "", { limit: 1 });
    const flipped = Buffer.from(continuation, "base64url");
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    for (const [continueAfter, code] of [
      [flipped.toString("base64url"), "STORAGE_LIST_EXPIRED"],
      [open.continuation, "STORAGE_LIST_EXPIRED"],
      ["", "STORAGE_INVALID_ARGUMENT"],
      ["AAAA", "STORAGE_INVALID_ARGUMENT"],
      [`${continuation}=`, "STORAGE_INVALID_ARGUMENT"],
      ["A".repeat(100_000), "STORAGE_INVALID_ARGUMENT"],
    ] as const) {
      const call = storage.listPage("strong", A1, HOME, "", { continueAfter });
      await assertCode(call, code);
    }
  });

  test("are refused by name by a server without them, where listPages gives one page", async () => {
    await using service = await serveWrapped((inner) => new Unpaged(inner));
    const { storage } = service;
    const stored = [
      await service.inner.writeCAS(sample(A1, HOME, "a")),
      await service.inner.writeCAS(sample(A1, HOME, "b")),
    ];
    expect(storage.capabilities.pagedList).toBe(false);
    for (const call of [
      storage.listPage("strong", A1, HOME, ""),
      storage.listHeads("strong", A1, HOME, ""),
    ]) {
      const error = await assertCode(call, "STORAGE_UNSUPPORTED");
      expect(error.message).toContain("paged lists");
    }
    const pages: (readonly Resource[])[] = [];
    for await (const page of listPages(storage, "strong", A1, HOME, "", { limit: 1 })) {
      pages.push(page);
    }
    expect(pages).toEqual([stored]);
  });
});

describe("a storage service", () => {
  test("refuses callers without a valid token", async () => {
    await using service = await serve();
    await assertCode(service.open(), "STORAGE_PERMISSION_DENIED");
    await assertCode(service.open("wrong"), "STORAGE_PERMISSION_DENIED");
  });

  test("lets a token write in its tenancy and under its prefix only", async () => {
    await using service = await serve();
    await using storage = await service.open("home");
    const stored = await storage.writeCAS(sample(A1, HOME, "web-1"));
    assertSame(await storage.read("strong", stored.id), stored);
    const outside = [sample(A1, HOME, "db-1"), sample(A1, BILLING, "web-1")];
    for (const resource of outside) {
      await assertCode(storage.writeCAS(resource), "STORAGE_PERMISSION_DENIED");
      await assertCode(storage.deleteCAS(resource.id, "1"), "STORAGE_PERMISSION_DENIED");
      await assertCode(storage.read("strong", resource.id), "STORAGE_PERMISSION_DENIED");
      const batch = [
        { kind: "write", resource: stored },
        { kind: "write", resource },
      ] as const;
      await assertCode(storage.batch(batch), "STORAGE_PERMISSION_DENIED");
      const guards = [{ id: resource.id, version: "" }];
      await assertCode(storage.writeCAS(stored, { guards }), "STORAGE_PERMISSION_DENIED");
    }
    assertSame(await service.storage.read("strong", stored.id), stored);
    await assertCode(storage.snapshot(), "STORAGE_UNSUPPORTED");
    await assertCode(storage.restore(), "STORAGE_UNSUPPORTED");
  });

  test("leaves out of lists and watches what a token does not cover", async () => {
    await using service = await serve();
    const owner = sampleId(A1, HOME, "owner");
    await service.storage.writeCAS(sample(A1, HOME, "db-1", { owner }));
    const seen = await service.storage.writeCAS(sample(A1, HOME, "web-1", { owner }));
    await using storage = await service.open("home");
    expect(await storage.list("strong", A1, EVERYWHERE, "")).toEqual([seen]);
    expect(await storage.listByOwner(owner)).toEqual([seen]);
    using watch = await storage.watchList(A1, EVERYWHERE, "");
    assertSame(await nextUpsert(watch), seen);
    await service.storage.writeCAS(sample(A1, BILLING, "web-2"));
    await service.storage.writeCAS(sample(A1, HOME, "db-2"));
    const next = await service.storage.writeCAS(sample(A1, HOME, "web-2"));
    assertSame(await nextUpsert(watch), next);
  });

  test("lets a reader read everywhere and write nowhere", async () => {
    await using service = await serve();
    const stored = await service.storage.writeCAS(sample(A1, BILLING, "web-1"));
    await using storage = await service.open("reader");
    assertSame(await storage.read("strong", stored.id), stored);
    await assertCode(storage.writeCAS(stored), "STORAGE_PERMISSION_DENIED");
  });

  test("carries a stored resource that is too large for the trailers of an error", async () => {
    await using service = await serve();
    await using storage = await service.open("all");
    const data = { typeUrl: "t", value: new Uint8Array(300_000).fill(7) };
    const stored = await storage.writeCAS(sample(A1, HOME, "web", { data }));
    const reading = storage.read("strong", sampleId(A2, HOME, "web"));
    const error = await assertCode(reading, "STORAGE_GROUP_VERSION_MISMATCH");
    expect(error).toMatchObject({ stored });
  });

  test("keeps watches open and fails calls as unknown or not applied when the server goes", async () => {
    await using service = await serve();
    await using storage = await service.open("all");
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    using watch = await storage.watchList(A1, HOME, "");
    assertSame(await nextUpsert(watch), stored);
    await service.server.close();
    await assertQuiet(watch, 200);
    const error = await assertCode(storage.writeCAS(stored), "STORAGE_INCONSISTENT");
    expect(error.details.outcome).toBeOneOf(["unknown", "not-applied"]);
    await assertCode(storage.read("strong", stored.id), "STORAGE_INCONSISTENT");
  });
});
