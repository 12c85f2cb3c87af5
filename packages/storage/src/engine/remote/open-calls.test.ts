import { createClient, implementService, openChannel, startServer } from "@stackwright/proto/grpc";
import { StorageService } from "@stackwright/proto/storage";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createDirectoryBlobs } from "../../blob/index.ts";
import { createBlobsService, createRemoteBlobs } from "../../blob/remote.ts";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { makeScratchDirectory } from "../../testing/scratch-directory.ts";
import type { StorageBackend } from "../../types.ts";
import { createMemoryStorage } from "../memory.ts";
import { createRemoteStorage, createStorageService, type Grant } from "../remote.ts";
import type { CallBounds } from "./open-calls.ts";

const AWAY = { ...HOME, partition: "away" };
const GRANTS: Readonly<Record<string, Grant>> = {
  "home-1": { scopes: [{ tenancy: HOME }], blobs: "write" },
  "home-2": { scopes: [{ tenancy: HOME }], blobs: "write" },
  away: { scopes: [{ tenancy: AWAY }] },
  both: { scopes: [{ tenancy: HOME }, { tenancy: AWAY }] },
};

async function serve(maxCalls: Partial<CallBounds>) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await makeScratchDirectory());
  const storage = stack.use(createMemoryStorage());
  const blobs = stack.use(await createDirectoryBlobs({ directory: scratch.path }));
  const access = { authorize: (token = "") => GRANTS[token], maxCalls };
  const server = stack.use(
    await startServer({
      services: [
        createStorageService({ storage, ...access }),
        createBlobsService({ blobs, ...access }),
      ],
    }),
  );
  const { address } = server;
  return {
    storage,
    address,
    open: async (token: string) => stack.use(await createRemoteStorage({ address, token })),
    openBlobs: async (token: string) => stack.use(await createRemoteBlobs({ address, token })),
  };
}

const watch = (storage: StorageBackend, tenancy = HOME) => storage.watchList(A1, tenancy, "");

describe("calls that are open at once", () => {
  test("are bounded for each token, and refused clearly, until one of them ends", async () => {
    const { storage, open } = await serve({ perToken: 3 });
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    const first = await open("home-1");
    const watches = [await watch(first), await watch(first), await watch(first)];
    for (const refused of [
      watch(first),
      first.writeCAS(stored),
      first.list("strong", A1, HOME, ""),
    ]) {
      const error = await assertCode(refused, "STORAGE_INCONSISTENT");
      expect(error).toMatchObject({
        retryable: true,
        message: expect.stringContaining("the token has 3 calls open"),
        details: { outcome: "not-applied", limit: 3 },
      });
    }
    assertSame(await storage.read("strong", stored.id), stored);
    // Others are not concerned, and the watches go on.
    assertSame(await (await open("home-2")).read("strong", stored.id), stored);
    for (const one of watches) assertSame(await nextUpsert(one), stored);
    watches[0]?.close();
    await vi.waitFor(async () => {
      assertSame(await first.read("strong", stored.id), stored);
    });
    for (const one of watches) one.close();
  });

  test("are bounded for the tokens of one account together, and for all", async () => {
    const { open } = await serve({ perAccount: 2, all: 4 });
    const [first, second, away, both] = await Promise.all(
      ["home-1", "home-2", "away", "both"].map(open),
    );
    if (!first || !second || !away || !both) throw new Error("expected four clients");
    using _one = await watch(first);
    using _two = await watch(second);
    const full = await assertCode(watch(second), "STORAGE_INCONSISTENT");
    expect(full.message).toContain(`the account "${HOME.partition}" has 2 calls open`);
    // A token for several accounts is none of theirs.
    using _three = await watch(both);
    using _four = await watch(away, AWAY);
    const all = await assertCode(watch(both), "STORAGE_INCONSISTENT");
    expect(all.message).toContain("the service has 4 calls open");
  });

  test("are not counted any more once they have failed", async () => {
    const { storage, open } = await serve({ perToken: 1 });
    const { id } = await storage.writeCAS(sample(A1, AWAY, "web"));
    const first = await open("home-1");
    for (let count = 0; count < 10; count += 1) {
      await assertCode(first.read("strong", id), "STORAGE_PERMISSION_DENIED");
      using lost = await first.watchList(A1, HOME, "", { resumeAfter: "elsewhere" });
      await assertCode(lost.next(), "STORAGE_WATCH_CLOSED");
    }
  });

  test("are bounded for blobs as well", async () => {
    const { openBlobs } = await serve({ perToken: 1 });
    const blobs = await openBlobs("home-1");
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const writing = blobs.write(
      (async function* () {
        yield Buffer.from("a");
        begun.resolve();
        await held.promise;
      })(),
    );
    await begun.promise;
    await vi.waitFor(() => assertCode(blobs.find(["0".repeat(64)]), "STORAGE_INCONSISTENT"));
    held.resolve();
    const { sha256 } = await writing;
    await vi.waitFor(async () => {
      expect(await blobs.find([sha256])).toHaveLength(1);
    });
  });
});

describe("a service of another release", () => {
  test("that does not know a call refuses it as unsupported, and nothing has happened", async () => {
    const storage = createMemoryStorage();
    const whole = createStorageService({ storage, authorize: () => ({ scopes: "all" }) });
    const { getCapabilities } = StorageService;
    const { capabilities } = await (async () => {
      await using server = await startServer({ services: [whole] });
      await using channel = openChannel(server.address);
      return await createClient(StorageService, channel).getCapabilities({});
    })();
    const older = implementService(
      { getCapabilities },
      { getCapabilities: async () => ({ capabilities }) },
    );
    await using server = await startServer({ services: [older] });
    await using remote = await createRemoteStorage({ address: server.address });
    for (const call of [
      remote.writeCAS(sample(A1, HOME, "web")),
      remote.list("strong", A1, HOME, ""),
      watch(remote),
    ]) {
      const error = await assertCode(call, "STORAGE_UNSUPPORTED");
      expect(error.message).toContain("of a release that this one does not speak with");
    }
  });

  test("without the storage service is named when it is opened", async () => {
    await using server = await startServer({ services: [] });
    const error = await assertCode(
      createRemoteStorage({ address: server.address }),
      "STORAGE_UNSUPPORTED",
    );
    expect(error.message).toContain("no storage service");
  });
});
