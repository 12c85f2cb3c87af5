import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  fromAsyncIterable,
  fromObservable,
  fromWatch,
  type ListWatcher,
  type ObservableLike,
  type SourceWatchEvent,
  type StreamItems,
} from "../../index.ts";
import { type ConformanceRig, collectionConformance } from "../conformance.ts";
import { trackEvents } from "../tracker.ts";
import { type ConfigMap, configMapKind, createRig, keysOf, type Rig } from "./fixtures.ts";

/** Lets pending promises and a few rounds of the event loop go by. */
async function rounds(n = 6): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A queue that can be read as an async iterable, ended and failed. */
class Channel<V> implements AsyncIterable<V> {
  #items: V[] = [];
  #wake: (() => void) | undefined;
  #end: { error?: unknown } | undefined;

  push(...items: V[]): void {
    this.#items.push(...items);
    this.#wake?.();
  }

  end(error?: unknown): void {
    this.#end = error === undefined ? {} : { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<V> {
    for (;;) {
      const item = this.#items.shift();
      if (item !== undefined) {
        yield item;
      } else if (this.#end !== undefined) {
        if ("error" in this.#end) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/** A server of objects with a revision, a history, and breakable watches. */
class Server implements ListWatcher<ConfigMap, number> {
  readonly objects = new Map<string, ConfigMap>();
  readonly #watches = new Set<Channel<SourceWatchEvent<ConfigMap, number>>>();
  #log: SourceWatchEvent<ConfigMap, number>[] = [];
  #oldest = 0;
  revision = 0;
  get watches(): number {
    return this.#watches.size;
  }

  lists = 0;
  froms: (number | undefined)[] = [];

  list() {
    this.lists++;
    return { objects: [...this.objects.values()], revision: this.revision };
  }

  watch({ from = 0, signal }: { from: number | undefined; signal: AbortSignal }) {
    this.froms.push(from);
    if (from < this.#oldest) throw new Error("expired");
    const channel = new Channel<SourceWatchEvent<ConfigMap, number>>();
    channel.push(...this.#log.filter((event) => (event.revision ?? 0) > from));
    this.#watches.add(channel);
    signal.addEventListener("abort", () => channel.end());
    return channel;
  }

  isExpired(error: unknown): boolean {
    return (error as Error).message === "expired";
  }

  set(name: string, data: Record<string, string> = {}): void {
    const object: ConfigMap = { ns: "ns", name, data };
    this.objects.set(`ns/${name}`, object);
    this.#emit({ type: "set", object, revision: ++this.revision });
  }

  delete(name: string): void {
    const object = this.objects.get(`ns/${name}`);
    this.objects.delete(`ns/${name}`);
    if (object !== undefined) this.#emit({ type: "delete", object, revision: ++this.revision });
  }

  breakWatches(error?: Error): void {
    for (const channel of this.#watches) channel.end(error);
    this.#watches.clear();
  }

  forgetHistory(): void {
    this.#log = [];
    this.#oldest = this.revision;
  }

  #emit(event: SourceWatchEvent<ConfigMap, number>): void {
    this.#log.push(event);
    for (const channel of this.#watches) channel.push(event);
  }
}

const options = { kind: configMapKind, name: "ConfigMaps", backoff: { initialMs: 1, maxMs: 1 } };

describe("watch-backed sources", () => {
  let rig: Rig;
  let server: Server;
  beforeEach(() => {
    rig = createRig();
    server = new Server();
    return () => rig.rt.dispose();
  });

  const settle = async () => {
    await rounds();
    await rig.rt.settled();
  };

  /** Time for a reconnect: the backoff is one millisecond. */
  const reconnect = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await settle();
  };

  const watchedAgain = async () => {
    await vi.waitFor(() => expect(server.watches).toBe(1));
    await settle();
  };

  it("S155 follows creates, updates and deletes", async () => {
    const maps = fromWatch(rig.rt, server, options);
    const tracker = trackEvents(maps);
    expect(maps.synced).toBe(false);
    await maps.whenSynced();
    server.set("a");
    await settle();
    expect(tracker.take()).toEqual(["add/ns/a"]);
    server.set("a", { foo: "bar" });
    await settle();
    expect(tracker.take()).toEqual(["update/ns/a"]);
    expect(maps.list()).toEqual([{ ns: "ns", name: "a", data: { foo: "bar" } }]);
    server.set("b");
    await settle();
    expect(tracker.take()).toEqual(["add/ns/b"]);
    const late = trackEvents(maps);
    await settle();
    expect(late.takeSorted()).toEqual(["add/ns/a", "add/ns/b"]);
    server.delete("b");
    await settle();
    expect(tracker.take()).toEqual(["delete/ns/b"]);
  });

  it("S156-S157 has what was there before, and its metadata, once synced", async () => {
    server.set("a");
    const maps = fromWatch(rig.rt, server, { ...options, metadata: { app: "foo" } });
    await maps.whenSynced();
    expect(keysOf(maps)).toEqual(["ns/a"]);
    expect(maps.metadata).toEqual({ app: "foo" });
  });

  it("a broken watch continues where it was", async () => {
    server.set("a");
    const maps = fromWatch(rig.rt, server, options);
    await maps.whenSynced();
    await settle();
    server.breakWatches(new Error("connection reset"));
    server.set("b");
    await watchedAgain();
    expect(keysOf(maps)).toEqual(["ns/a", "ns/b"]);
    expect(server.lists).toBe(1);
    expect(server.froms).toEqual([1, 1]);
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_SOURCE"]);
  });

  it("S158 a re-list after an expired revision gives the differences", async () => {
    for (const name of ["vanished", "changed", "same"]) server.set(name);
    const maps = fromWatch(rig.rt, server, options);
    await maps.whenSynced();
    const tracker = trackEvents(maps, { replay: false });
    server.breakWatches();
    server.delete("vanished");
    server.set("changed", { now: "different" });
    server.set("fresh");
    server.forgetHistory();
    await watchedAgain();
    expect(server.lists).toBe(2);
    expect(tracker.batches.length, "one turn").toBe(1);
    expect(tracker.takeSorted()).toEqual([
      "add/ns/fresh",
      "delete/ns/vanished",
      "update/ns/changed",
    ]);
    expect(maps.synced).toBe(true);
  });

  it("a resync lists anew", async () => {
    server.set("a");
    const maps = fromWatch(rig.rt, server, options);
    await maps.whenSynced();
    server.objects.clear();
    await maps.resync();
    expect(maps.size).toBe(0);
    expect(server.lists).toBe(2);
    server.set("b");
    await settle();
    expect(keysOf(maps)).toEqual(["ns/b"]);
  });

  it("a burst costs few turns and loses nothing", async () => {
    const maps = fromWatch(rig.rt, server, options);
    await maps.whenSynced();
    const tracker = trackEvents(maps);
    const before = rig.rt.version;
    for (let i = 0; i < 1000; i++) server.set(`m${i % 500}`, { i: `${i}` });
    await settle();
    expect(maps.size).toBe(500);
    expect(maps.get("ns/m7")?.data).toEqual({ i: "507" });
    expect(rig.rt.version - before).toBeLessThan(20);
    expect(new Set(tracker.events.map((event) => event.key)).size).toBe(500);
  });

  it("a list that fails is tried again", async () => {
    let failures = 2;
    const flaky: ListWatcher<ConfigMap, number> = {
      list: async () => {
        if (failures-- > 0) throw new Error("unavailable");
        return server.list();
      },
      watch: (request) => server.watch(request),
    };
    server.set("a");
    const maps = fromWatch(rig.rt, flaky, options);
    await maps.whenSynced();
    expect(keysOf(maps)).toEqual(["ns/a"]);
    expect(rig.errors.length).toBe(2);
  });

  it("a source without list begins with all objects", async () => {
    const channels: Channel<SourceWatchEvent<string>>[] = [];
    const source: ListWatcher<string> = {
      watch: () => {
        const channel = new Channel<SourceWatchEvent<string>>();
        channels.push(channel);
        return channel;
      },
    };
    const keys = fromWatch(rig.rt, source, { backoff: { initialMs: 1 } });
    const tracker = trackEvents(keys);
    channels[0]?.push({ type: "set", object: "a" }, { type: "set", object: "b" });
    await settle();
    expect([keys.size, keys.synced]).toEqual([0, false]);
    channels[0]?.push({ type: "synced" }, { type: "delete", key: "a" });
    await settle();
    expect(tracker.takeSorted()).toEqual(["add/a", "add/b", "delete/a"]);
    channels[0]?.end();
    await vi.waitFor(() => expect(channels.length).toBe(2), { timeout: 10_000 });
    channels[1]?.push({ type: "set", object: "c" }, { type: "synced" });
    await settle();
    expect(tracker.batches.length).toBe(1);
    expect(tracker.takeSorted()).toEqual(["add/c", "delete/b"]);
  });

  it("a source without revisions is watched before it is listed", async () => {
    const channel = new Channel<SourceWatchEvent<string>>();
    const source: ListWatcher<string> = {
      order: "watch-first",
      watch: () => channel,
      list: async () => {
        channel.push({ type: "set", object: "while-listing" });
        return { objects: ["listed"] };
      },
    };
    const keys = fromWatch(rig.rt, source);
    await keys.whenSynced();
    await settle();
    expect(keysOf(keys)).toEqual(["listed", "while-listing"]);
  });

  it("disposal ends the watch", async () => {
    const maps = fromWatch(rig.rt, server, options);
    await maps.whenSynced();
    maps.dispose();
    server.set("a");
    await reconnect();
    expect(maps.size).toBe(0);
    expect(server.froms.length).toBe(1);
  });

  describe("conformance", () => {
    for (const { name, run } of collectionConformance) {
      it(name, async () => {
        const collection = fromWatch(rig.rt, server, { ...options, metadata: { foo: "bar" } });
        // Objects have keys of two parts, of which the server here only knows the second.
        const nameOf = (key: string) => key.split("/")[1] ?? "";
        const renamed: ConformanceRig = {
          collection: rig.rt.derive(collection, (_, map) => ({ key: `a/${map.name}` }), {
            metadata: { foo: "bar" },
          }),
          create: (key) => server.set(nameOf(key)),
          remove: (key) => server.delete(nameOf(key)),
          settled: settle,
          [Symbol.asyncDispose]: async () => {},
        };
        await collection.whenSynced();
        await run(renamed);
      });
    }
  });
});

describe("streams", () => {
  let rig: Rig;
  beforeEach(() => {
    rig = createRig();
    return () => rig.rt.dispose();
  });
  const settle = async () => {
    await rounds();
    await rig.rt.settled();
  };

  it("an async iterable of objects is synced with its end", async () => {
    const channel = new Channel<string>();
    const keys = fromAsyncIterable(rig.rt, channel, { items: "objects" });
    channel.push("a", "b", "a");
    await settle();
    expect([keysOf(keys), keys.synced]).toEqual([["a", "b"], false]);
    channel.end();
    await settle();
    expect(keys.synced).toBe(true);
  });

  it("an async iterable of events is synced when it says so", async () => {
    const channel = new Channel<StreamItems<string>["events"]>();
    const keys = fromAsyncIterable<string, "events">(rig.rt, channel, { items: "events" });
    channel.push({ type: "set", object: "a" }, { type: "synced" }, { type: "delete", key: "a" });
    await settle();
    expect([keysOf(keys), keys.synced]).toEqual([[], true]);
    channel.end(new Error("gone"));
    await settle();
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_SOURCE"]);
  });

  /** The least observable: remembers its observers. */
  class Subject<V> implements ObservableLike<V> {
    readonly observers = new Set<Parameters<ObservableLike<V>["subscribe"]>[0]>();
    subscribe(observer: Parameters<ObservableLike<V>["subscribe"]>[0]) {
      this.observers.add(observer);
      return { unsubscribe: () => void this.observers.delete(observer) };
    }
    next(value: V): void {
      for (const observer of this.observers) observer.next(value);
    }
  }

  it("an observable of snapshots gives the differences, in order", async () => {
    const subject = new Subject<readonly string[]>();
    const keys = fromObservable<string, "snapshots">(rig.rt, subject, { items: "snapshots" });
    const tracker = trackEvents(keys);
    subject.next(["a", "b"]);
    subject.next(["b", "c"]);
    await settle();
    expect(keys.synced).toBe(true);
    expect(tracker.take()).toEqual(["add/a", "add/b", "add/c", "delete/a"]);
    keys.dispose();
    expect(subject.observers.size).toBe(0);
  });

  it("an observable is found behind the common symbol, and a bad item is left out", async () => {
    const subject = new Subject<unknown>();
    const wrapped = { "@@observable": () => subject };
    const keys = fromObservable<unknown, "objects">(rig.rt, wrapped, {
      items: "objects",
      synced: "start",
    });
    expect(keys.synced).toBe(true);
    subject.next("a");
    subject.next({ no: "key" });
    subject.next("b");
    await settle();
    expect(keysOf(keys)).toEqual(["a", "b"]);
    expect(rig.errors.map((error) => error.code)).toEqual(["KRT_SOURCE"]);
  });
});
