import { beforeEach, describe, expect, it } from "vitest";
import {
  createRuntime,
  type Event,
  type InputCollection,
  type Runtime,
  type RuntimeWarning,
} from "../index.ts";

interface Item {
  readonly key: string;
  readonly v: number;
}

describe("queues of handlers", () => {
  let rt: Runtime;
  let source: InputCollection<Item>;
  const diagnostics: RuntimeWarning[] = [];
  beforeEach(() => {
    diagnostics.length = 0;
    rt = createRuntime({ highWater: 10, onWarning: (one) => diagnostics.push(one) });
    source = rt.source<Item>([], { name: "Items" });
    return () => rt.dispose();
  });

  /** A handler that waits at each call until it is released. */
  function slow() {
    let release = () => {};
    const events: string[] = [];
    const note = (event: Event<Item>) =>
      events.push(`${event.type}/${event.key}=${event.new?.v ?? event.old?.v}`);
    return {
      events,
      one: (event: Event<Item>) => {
        note(event);
        return new Promise<void>((resolve) => (release = resolve));
      },
      batch: (batch: readonly Event<Item>[]) => {
        batch.forEach(note);
        return new Promise<void>((resolve) => (release = resolve));
      },
      next: async () => {
        release();
        await rt.settled();
        await Promise.resolve();
        await rt.settled();
      },
    };
  }

  it("are unbounded, lossless and in order, and a long one is reported at each doubling", async () => {
    const handler = slow();
    const registration = source.subscribe(handler.one, { name: "slow" });
    for (let i = 0; i < 45; i++) {
      source.set({ key: "k", v: i });
      if (i % 7 === 0) await rt.settled();
    }
    expect(registration.queued).toBe(44);
    expect(diagnostics).toEqual(
      [11, 21, 41].map((queued) => ({
        type: "queue-high-water",
        collection: "Items",
        subscription: "slow",
        queued: queued,
      })),
    );
    for (let i = 0; i < 45; i++) await handler.next();
    expect(handler.events.length).toBe(45);
    expect(handler.events.at(-1)).toBe("update/k=44");
    expect(registration.queued).toBe(0);
  });

  it("with `coalesce` merge what waits by key, and nothing else is lost", async () => {
    const handler = slow();
    const registration = source.subscribe(handler.one, {
      overflow: { policy: "coalesce", limit: 4 },
    });
    source.set({ key: "first", v: 0 });
    await rt.settled();
    source.set({ key: "gone", v: 0 });
    source.delete("gone");
    for (let v = 0; v < 10; v++) source.set({ key: "a", v });
    source.delete("first");
    source.set({ key: "b", v: 1 });
    expect(registration.queued).toBeLessThanOrEqual(4);
    for (let i = 0; i < 12; i++) await handler.next();
    expect(handler.events[0]).toBe("add/first=0");
    const seen = new Map<string, string>();
    for (const event of handler.events)
      seen.set(event.slice(event.indexOf("/") + 1, event.indexOf("=")), event);
    expect(seen.get("a")).toMatch(/(add|update)\/a=9$/);
    expect(seen.get("b")).toBe("add/b=1");
    expect(seen.get("first")).toBe("delete/first=0");
    expect(handler.events.length).toBeLessThan(12);
  });

  it("with `resync` start over from the state, after saying so", async () => {
    const handler = slow();
    let resyncs = 0;
    const registration = source.subscribeBatch(handler.batch, {
      overflow: {
        policy: "resync",
        limit: 4,
        onResync: () => {
          resyncs++;
          handler.events.push("resync");
        },
      },
    });
    source.set({ key: "a", v: 0 });
    await rt.settled();
    for (let v = 1; v < 10; v++) source.set({ key: "a", v });
    source.set({ key: "b", v: 1 });
    expect(registration.queued).toBe(0);
    await handler.next();
    await handler.next();
    expect(handler.events).toEqual(["add/a=0", "resync", "add/a=9", "add/b=1"]);
    expect(resyncs).toBe(1);
    source.set({ key: "c", v: 1 });
    await rt.settled();
    await handler.next();
    expect(handler.events.at(-1)).toBe("add/c=1");
  });

  it("keep the sync mark in its place, whatever is merged or dropped", async () => {
    for (const policy of ["coalesce", "resync"] as const) {
      const late = rt.source<Item>([], { synced: false });
      const handler = slow();
      const registration = late.subscribe(handler.one, {
        overflow:
          policy === "coalesce" ? { policy, limit: 2 } : { policy, limit: 2, onResync: () => {} },
      });
      late.set({ key: "a", v: 0 });
      await rt.settled();
      for (let v = 1; v < 6; v++) late.set({ key: "a", v });
      late.markSynced();
      for (let v = 6; v < 10; v++) late.set({ key: "a", v });
      expect(registration.synced).toBe(false);
      for (let i = 0; i < 4; i++) await handler.next();
      expect(registration.synced, policy).toBe(true);
      expect(handler.events.at(-1)).toContain("a=9");
    }
  });

  it("are left behind by a handler that unsubscribes itself", async () => {
    const seen: string[] = [];
    const registration = source.subscribe((event) => {
      seen.push(event.key);
      registration.unsubscribe();
    });
    source.set({ key: "a", v: 0 });
    source.set({ key: "b", v: 0 });
    await rt.settled();
    expect(seen).toEqual(["a"]);
  });

  it("are served in slices, with the event loop in between", async () => {
    const short = createRuntime({ sliceMs: 1 });
    const numbers = short.source<number>();
    let handled = 0;
    numbers.subscribe(() => {
      handled++;
      const end = performance.now() + 0.05;
      while (performance.now() < end);
    });
    short.batch(() => {
      for (let i = 0; i < 1000; i++) numbers.set(i);
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(handled).toBeGreaterThan(0);
    expect(handled).toBeLessThan(1000);
    await short.settled();
    expect(handled).toBe(1000);
  });
});
