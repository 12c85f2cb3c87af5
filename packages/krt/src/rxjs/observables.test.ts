import { firstValueFrom, Subject, take, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { createRuntime, type Event, kind } from "../index.ts";
import { batches$, events$, fromObservable, list$, value$ } from "./index.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}
const ITEM = kind<Item>()({ key: (item) => item.key });
const item = (key: string, value = 0): Item => ({ key, value });
const show = (event: Event<Item>): string => `${event.type}/${event.key}`;

describe("events$", () => {
  it("begins with the present objects and continues with changes, in order", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a"), item("b")], { kind: ITEM });
    const seen: string[] = [];
    const subscription = events$(source).subscribe((event) => seen.push(show(event)));
    source.set(item("a", 1));
    source.delete("b");
    await rt.settled();
    expect(seen).toEqual(["add/a", "add/b", "update/a", "delete/b"]);
    subscription.unsubscribe();
    expect(rt.inspect().collections()[0]?.subscriptions).toEqual([]);
    source.set(item("c"));
    await rt.settled();
    expect(seen).toHaveLength(4);
  });

  it("leaves the present objects out on request", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a")], { kind: ITEM });
    const next = firstValueFrom(events$(source, { replay: false }));
    source.set(item("b"));
    expect(show(await next)).toBe("add/b");
  });

  it("gives every subscriber a stream of its own", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a")], { kind: ITEM });
    const stream = events$(source);
    expect(show(await firstValueFrom(stream))).toBe("add/a");
    expect(show(await firstValueFrom(stream))).toBe("add/a");
  });

  it("completes when the collection is disposed, also when that was before", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a")], { kind: ITEM });
    const all = firstValueFrom(events$(source).pipe(toArray()));
    await rt.settled();
    source.dispose();
    expect((await all).map(show)).toEqual(["add/a"]);
    expect(await firstValueFrom(events$(source).pipe(toArray()))).toEqual([]);
  });
});

describe("batches$", () => {
  it("emits one array for each turn", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a")], { kind: ITEM });
    const two = firstValueFrom(batches$(source).pipe(take(2), toArray()));
    rt.batch(() => {
      source.set(item("b"));
      source.delete("a");
    });
    expect((await two).map((batch) => batch.map(show).sort())).toEqual([
      ["add/a"],
      ["add/b", "delete/a"],
    ]);
  });
});

describe("list$", () => {
  it("waits for the collection to be synced, and emits once for each turn", async () => {
    using rt = createRuntime();
    const source = rt.source<Item>([], { kind: ITEM, synced: false });
    const seen: string[][] = [];
    list$(source).subscribe((list) => seen.push(list.map((one) => one.key)));
    source.set(item("a"));
    await rt.settled();
    expect(seen).toEqual([]);
    source.markSynced();
    await rt.settled();
    expect(seen).toEqual([["a"]]);
    rt.batch(() => {
      source.set(item("b"));
      source.set(item("c"));
    });
    await rt.settled();
    expect(seen).toEqual([["a"], ["a", "b", "c"]]);
  });

  it("emits an empty list for an empty collection", async () => {
    using rt = createRuntime();
    expect(await firstValueFrom(list$(rt.source<Item>([], { kind: ITEM })))).toEqual([]);
  });

  it("has no glitches on a diamond", async () => {
    using rt = createRuntime();
    const source = rt.source([item("a", 1)], { kind: ITEM });
    const doubled = rt.derive(source, (_, one) => item(one.key, one.value * 2), { kind: ITEM });
    const both = rt.derive(
      source,
      (ctx, one) =>
        item(one.key, one.value + ctx.fetch(doubled).reduce((sum, { value }) => sum + value, 0)),
      { kind: ITEM },
    );
    const seen: number[] = [];
    list$(both).subscribe((list) => seen.push(list[0]?.value ?? -1));
    for (let i = 2; i < 5; i++) {
      source.set(item("a", i));
      await rt.settled();
    }
    expect(seen).toEqual([3, 6, 9, 12]);
  });
});

describe("value$", () => {
  it("follows one key through absence, and is silent about others", async () => {
    using rt = createRuntime();
    const source = rt.source<Item>([], { kind: ITEM });
    const seen: (number | undefined)[] = [];
    let completed = false;
    value$(source, "a").subscribe({
      next: (one) => seen.push(one?.value),
      complete: () => {
        completed = true;
      },
    });
    for (const write of [
      () => source.set(item("b")),
      () => source.set(item("a", 1)),
      () => source.set(item("a", 1), { force: true }),
      () => source.delete("a"),
    ]) {
      write();
      await rt.settled();
    }
    expect(seen).toEqual([undefined, 1, undefined]);
    source.dispose();
    expect(completed).toBe(true);
  });
});

describe("fromObservable", () => {
  it("takes snapshots from a subject and unsubscribes when disposed", async () => {
    using rt = createRuntime();
    const subject = new Subject<Item[]>();
    const collection = fromObservable(rt, subject, { kind: ITEM, items: "snapshots" });
    expect(collection.synced).toBe(false);
    subject.next([item("a"), item("b")]);
    await collection.whenSynced();
    subject.next([item("b"), item("c")]);
    await firstValueFrom(value$(collection, "c").pipe(take(2), toArray()));
    expect([...collection.keys()].sort()).toEqual(["b", "c"]);
    collection.dispose();
    expect(subject.observed).toBe(false);
  });
});
