import { createRuntime, kind } from "@stackwright/krt";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import type { ResourceFact } from "./resource-facts.ts";
import { ResourceRings } from "./resource-rings.ts";
import type { StackFact } from "./stack-facts.ts";

function start(idleBytes?: number) {
  const rt = createRuntime();
  const named = rt.source<StackFact>([], { kind: kind<StackFact>()({ key: ({ key }) => key }) });
  const all = rt.source<ResourceFact>([], {
    kind: kind<ResourceFact>()({ key: ({ key }) => key }),
  });
  const byStack = rt.index(all, ({ stack }) => stack);
  const bound = idleBytes === undefined ? {} : { idleBytes };
  const rings = new ResourceRings({ named, all, byStack, ...bound });
  const end = (): void => {
    rings[Symbol.dispose]();
    rt.dispose();
  };
  return { rt, named, all, rings, end };
}

const stackOf = (name: string, id: string): StackFact => ({
  key: `a/p/${name}`,
  account: "a",
  project: "p",
  id,
  name,
});
const objectOf = (id: string, index: number, phase: ResourceFact["phase"]): ResourceFact => ({
  key: `a/p/${id}.${index}`,
  stack: `a/p/${id}`,
  address: `x.y[${index}]`,
  deposed: "",
  type: "x",
  isData: false,
  phase,
  provider: "example.com/a/b",
  providerVersion: "1.0.0",
});

/** What one reader knows, by what it is given as a stream gives it. */
class Reader {
  readonly #rings: ResourceRings;
  readonly #name: string;
  readonly known = new Map<string, string>();
  snapshots = 0;
  #seen: number | undefined;

  constructor(rings: ResourceRings, name: string) {
    this.#rings = rings;
    this.#name = `a/p/${name}`;
  }

  read(): void {
    const turns = this.#seen === undefined ? undefined : this.#rings.after(this.#name, this.#seen);
    if (turns === undefined) {
      const { revision, objects } = this.#rings.snapshot(this.#name);
      this.snapshots += 1;
      this.#seen = revision;
      this.known.clear();
      for (const { resource } of objects) this.known.set(resource.key, resource.phase);
      return;
    }
    for (const { revision, set, deleted } of turns) {
      this.#seen = revision;
      for (const { resource } of set) this.known.set(resource.key, resource.phase);
      for (const { resource } of deleted) this.known.delete(resource.key);
    }
  }
}

const step = fc.record({
  what: fc.constantFrom("set", "set", "set", "delete", "stack", "read", "settle"),
  name: fc.constantFrom("one", "two"),
  // A name may come to stand for another stack, or for none.
  id: fc.constantFrom("S1", "S2", "S3", ""),
  index: fc.nat(3),
  phase: fc.constantFrom("ready", "updating", "tainted"),
});

it("readers of any pace know what the stack has that the name stands for, also where little is kept for them", async () => {
  const bound = fc.constantFrom(undefined, 2_000);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), bound, async (steps, idleBytes) => {
      const { rt, named, all, rings, end } = start(idleBytes);
      const readers = ["one", "one", "two"].map((name) => ({
        name,
        reader: new Reader(rings, name),
      }));
      for (const { what, name, id, index, phase } of steps) {
        if (what === "set" && id !== "") all.set(objectOf(id, index, phase));
        else if (what === "delete") all.delete(`a/p/${id}.${index}`);
        else if (what === "stack" && id === "") named.delete(`a/p/${name}`);
        else if (what === "stack") named.set(stackOf(name, id));
        else if (what === "read") readers[index % readers.length]?.reader.read();
        else await rt.settled();
      }
      await rt.settled();
      for (const { name, reader } of readers) {
        reader.read();
        const id = named.get(`a/p/${name}`)?.id;
        const there = all.list().filter(({ stack }) => stack === `a/p/${id}`);
        expect(reader.known).toEqual(new Map(there.map(({ key, phase }) => [key, phase])));
      }
      end();
    }),
  );
});

it("a reader continues without a snapshot while its stack is the same, and waits for that stack alone", async () => {
  const { rt, named, all, rings, end } = start();
  onTestFinished(end);
  named.set(stackOf("one", "S1"));
  named.set(stackOf("two", "S2"));
  const reader = new Reader(rings, "one");
  reader.read();
  const stop = new AbortController();
  let woken = 0;
  const waits = rings.changed("a/p/one", stop.signal).then(() => (woken += 1));
  all.set(objectOf("S2", 0, "ready"));
  await rt.settled();
  expect(woken).toBe(0);
  all.set(objectOf("S1", 0, "ready"));
  await rt.settled();
  await waits;
  reader.read();
  expect([reader.known.size, reader.snapshots]).toEqual([1, 1]);
  named.set(stackOf("one", "S3"));
  await rt.settled();
  reader.read();
  expect([reader.known.size, reader.snapshots]).toEqual([0, 2]);
});

it("keeps a bounded number of changed objects of a stack: who is behind them begins again", async () => {
  const { rt, named, all, rings, end } = start();
  onTestFinished(end);
  named.set(stackOf("one", "S1"));
  const { revision } = rings.snapshot("a/p/one");
  const turn = async (phase: ResourceFact["phase"]): Promise<void> => {
    rt.batch(() => {
      for (let index = 0; index < 9_000; index += 1) all.set(objectOf("S1", index, phase));
    });
    await rt.settled();
  };
  await turn("creating");
  await turn("ready");
  expect(rings.after("a/p/one", revision)).toHaveLength(2);
  await turn("updating");
  expect(rings.after("a/p/one", revision)).toBeUndefined();
  expect(rings.after("a/p/one", revision + 1)).toHaveLength(2);
  expect(rings.after("a/p/one", revision + 4)).toBeUndefined();
});

it("keeps no more than some hundred stacks for readers that come back, and those that are waited for", async () => {
  const { rt, named, all, rings, end } = start();
  onTestFinished(end);
  const name = (index: number): string => `a/p/s${index}`;
  rt.batch(() => {
    for (let index = 0; index < 700; index += 1) named.set(stackOf(`s${index}`, `S${index}`));
  });
  const { revision } = rings.snapshot(name(0));
  const stop = new AbortController();
  const waits = rings.changed(name(0), stop.signal);
  const left = rings.snapshot(name(1)).revision;
  for (let index = 2; index < 700; index += 1) rings.snapshot(name(index));
  expect(rings.after(name(1), left)).toBeUndefined();
  all.set(objectOf("S0", 0, "ready"));
  await rt.settled();
  await waits;
  expect(rings.after(name(0), revision)).toHaveLength(1);
});

it("keeps a bounded sum of changes for readers that come back: the stack that was asked for the longest ago goes first", async () => {
  const { rt, named, all, rings, end } = start(100_000);
  onTestFinished(end);
  const names = ["one", "two", "three"];
  rt.batch(() => {
    for (const name of names) named.set(stackOf(name, name));
  });
  const at = new Map(names.map((name) => [name, rings.snapshot(`a/p/${name}`).revision]));
  const turns = (name: string) => rings.after(`a/p/${name}`, at.get(name) ?? 0)?.length;
  const change = async (name: string): Promise<void> => {
    rt.batch(() => {
      for (let index = 0; index < 60; index += 1) all.set(objectOf(name, index, "ready"));
    });
    await rt.settled();
  };
  await change("one");
  await change("two");
  expect([turns("two"), turns("three"), turns("one")]).toEqual([1, 0, 1]);
  // "two" was asked for before "one".
  await change("three");
  expect([turns("one"), turns("three")]).toEqual([1, 1]);
  expect(turns("two")).toBeUndefined();
  const { objects } = rings.snapshot("a/p/two");
  expect(objects).toHaveLength(60);
});

it("keeps the changes of stacks that somebody waits for, however much they are", async () => {
  const { rt, named, all, rings, end } = start(1_000);
  onTestFinished(end);
  named.set(stackOf("one", "S1"));
  const { revision } = rings.snapshot("a/p/one");
  const stop = new AbortController();
  const waits = rings.changed("a/p/one", stop.signal);
  rt.batch(() => {
    for (let index = 0; index < 60; index += 1) all.set(objectOf("S1", index, "ready"));
  });
  await rt.settled();
  await waits;
  expect(rings.after("a/p/one", revision)).toHaveLength(1);
});
