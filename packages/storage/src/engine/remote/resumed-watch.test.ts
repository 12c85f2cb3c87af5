import { startServer } from "@stackwright/proto/grpc";
import { describe, expect, test } from "vitest";
import type { Resource } from "../../resource.ts";
import {
  assertCode,
  assertQuiet,
  assertSame,
  nextDelete,
  nextEvent,
  nextUpsert,
} from "../../testing/assertions.ts";
import { DelegatingStorage } from "../../testing/delegate.ts";
import { TcpProxy } from "../../testing/live/tcp-proxy.ts";
import { A1, B1, HOME, sample } from "../../testing/samples.ts";
import type { Watch, WatchOptions } from "../../types.ts";
import { createMemoryStorage, type MemoryStorageOptions } from "../memory.ts";
import { createRemoteStorage, createStorageService, type Grant } from "../remote.ts";

/** A store behind a server that can go and come back, and a client of it behind a proxy. */
async function serve(options: MemoryStorageOptions = {}, over = createMemoryStorage(options)) {
  await using stack = new AsyncDisposableStack();
  let inner = over;
  let watches = 0;
  let grant: Grant | undefined = { scopes: "all" };
  const counting = () =>
    new (class extends DelegatingStorage {
      override watchList(...args: Parameters<DelegatingStorage["watchList"]>): Promise<Watch> {
        watches += 1;
        return super.watchList(...args);
      }
    })(inner);
  const start = (port: number) =>
    startServer({
      address: { host: "127.0.0.1", port },
      services: [createStorageService({ storage: counting(), authorize: () => grant })],
    });
  let server = await start(0);
  const { address } = server;
  if (!("port" in address)) throw new Error("expected a port");
  const proxy = stack.use(await TcpProxy.start(address.port));
  stack.defer(async () => {
    await server.close();
    await inner.close();
  });
  const storage = stack.use(
    await createRemoteStorage({ address: { host: "127.0.0.1", port: proxy.port }, token: "t" }),
  );
  const owned = stack.move();
  return {
    storage,
    proxy,
    store: () => inner,
    watches: () => watches,
    stop: () => server.close(),
    restart: async (content = inner): Promise<void> => {
      inner = content;
      server = await start(address.port);
    },
    revoke: () => {
      grant = undefined;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const watchLive = async (storage: DelegatingStorage["inner"], options: WatchOptions = {}) => {
  const watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true, ...options });
  while ((await nextEvent(watch)).operation !== "endOfSnapshot");
  return watch;
};

describe("a watch over a connection that breaks", () => {
  test("goes on behind the last event, again and again", async () => {
    await using service = await serve();
    const store = service.store();
    let stored: Resource = await store.writeCAS(sample(A1, HOME, "web"));
    using watch = await watchLive(service.storage);
    for (let round = 0; round < 5; round += 1) {
      service.proxy.cut();
      for (let count = 0; count < 3; count += 1) {
        stored = await store.writeCAS(stored);
        assertSame(await nextUpsert(watch), stored);
      }
    }
    await store.deleteCAS(stored.id, stored.version);
    assertSame(await nextDelete(watch), stored);
    expect(service.watches()).toBeGreaterThan(2);
  });

  test("waits for a server that is away, and gets what was committed meanwhile, each once", async () => {
    await using service = await serve();
    const store = service.store();
    using watch = await watchLive(service.storage);
    await service.stop();
    const written = [];
    for (const name of ["a", "b", "c"]) written.push(await store.writeCAS(sample(A1, HOME, name)));
    await assertQuiet(watch, 200);
    await service.restart();
    for (const one of written) assertSame(await nextUpsert(watch), one);
    await assertQuiet(watch);
  });

  test("has a fresh position though nothing was for it", async () => {
    await using service = await serve({ history: { events: 32 }, watchBuffer: { bookmarkMs: 10 } });
    const store = service.store();
    using watch = await watchLive(service.storage);
    using asking = await watchLive(service.storage, { bookmarks: true });
    let other = await store.writeCAS(sample(B1, HOME, "other"));
    for (let count = 0; count < 100; count += 1) other = await store.writeCAS(other);
    let { cursor } = await nextEvent(asking);
    while (!cursor?.endsWith(".101")) ({ cursor } = await nextEvent(asking));
    service.proxy.cut();
    const stored = await store.writeCAS(sample(A1, HOME, "web"));
    assertSame(await nextUpsert(watch), stored);
  });

  test("ends where the history does not reach that far, and where the store is another one", async () => {
    await using service = await serve({ history: { events: 32 } });
    const store = service.store();
    using watch = await watchLive(service.storage);
    await service.stop();
    let stored = await store.writeCAS(sample(A1, HOME, "web"));
    for (let count = 0; count < 100; count += 1) stored = await store.writeCAS(stored);
    await service.restart();
    await assertCode(nextEvent(watch), "STORAGE_WATCH_CLOSED");
    using again = await watchLive(service.storage);
    await service.stop();
    await store.close();
    await service.restart(createMemoryStorage());
    await assertCode(nextEvent(again), "STORAGE_WATCH_CLOSED");
  });

  test("ends when the token was revoked meanwhile, when it is closed, and within its snapshot", async () => {
    await using service = await serve();
    const store = service.store();
    for (let count = 0; count < 2_000; count += 1) {
      const data = { typeUrl: "t", value: new Uint8Array(4_000) };
      await store.writeCAS(sample(B1, HOME, `r${count}`, { data }));
    }
    using within = await service.storage.watchList(B1, HOME, "");
    await nextUpsert(within);
    const watch = await watchLive(service.storage);
    using revoked = await watchLive(service.storage);
    await service.stop();
    watch.close();
    await assertCode(watch.next(), "STORAGE_WATCH_ENDED");
    const rest = (async () => {
      for (;;) await nextEvent(within);
    })();
    await assertCode(rest, "STORAGE_WATCH_CLOSED");
    service.revoke();
    await service.restart();
    await assertCode(nextEvent(revoked), "STORAGE_WATCH_CLOSED");
  });
});
