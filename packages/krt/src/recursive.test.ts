import { describe, expect, it } from "vitest";
import { createRuntime, type KrtError, type OutputOf } from "./index.ts";

interface Stack {
  readonly key: string;
  readonly stale: boolean;
  readonly reads: readonly string[];
}

interface Staleness {
  readonly key: string;
  readonly stale: boolean;
}

const stack = (key: string, reads: readonly string[] = [], stale = false): Stack => ({
  key,
  reads,
  stale,
});

function build(stacks: readonly Stack[], options: Parameters<typeof createRuntime>[0] = {}) {
  const errors: KrtError[] = [];
  const rt = createRuntime({ onError: (error) => errors.push(error), ...options });
  const source = rt.source(stacks);
  const runs: string[] = [];
  const staleness = rt.deriveRecursive(
    source,
    (_, { key, stale, reads }, outputOf: OutputOf<Staleness>): Staleness => {
      // All are asked, so that the runs below are easy to tell.
      const upstream = reads.filter((one) => outputOf(one)?.stale === true);
      runs.push(key);
      return { key, stale: stale || upstream.length > 0 };
    },
    { name: "staleness" },
  );
  return { rt, source, staleness, runs, errors };
}

describe("recursive derivations", () => {
  it("propagates along the graph of the inputs within a turn, each input once", () => {
    const { source, staleness, runs } = build([
      stack("d", ["b", "c"]),
      stack("b", ["a"]),
      stack("c", ["a"]),
      stack("a"),
      stack("x"),
    ]);
    expect(runs.toSorted()).toEqual(["a", "b", "c", "d", "x"]);
    runs.length = 0;
    source.set(stack("a", [], true));
    expect(runs).toEqual(["a", expect.any(String), expect.any(String), "d"]);
    expect(staleness.list().filter(({ stale }) => stale).length).toBe(4);
  });

  it("stops where an output is equal", () => {
    const { source, runs } = build([stack("a"), stack("b", ["a"], true), stack("c", ["b"])]);
    runs.length = 0;
    source.set(stack("a", [], true));
    expect(runs).toEqual(["a", "b"]);
  });

  it("waits for an input that comes later, and notices that one goes", () => {
    const { source, staleness } = build([stack("b", ["a"])]);
    expect(staleness.get("b")?.stale).toBe(false);
    source.set(stack("a", [], true));
    expect(staleness.get("b")?.stale).toBe(true);
    source.delete("a");
    expect(staleness.get("b")?.stale).toBe(false);
  });

  it("a circle fails with its path and has no output; what reads it does not fail", () => {
    const { rt, source, staleness, errors } = build([
      stack("c", ["b"]),
      stack("a", ["c"]),
      stack("b", ["a"]),
      stack("reader", ["a"]),
      stack("apart", [], true),
    ]);
    const path = ["a", "c", "b", "a"];
    expect(errors.map(({ code, details }) => [code, details.path])).toEqual(
      Array.from({ length: 3 }, () => ["KRT_CYCLE", path]),
    );
    expect(errors[0]?.message).toContain("a -> c -> b -> a");
    expect([...staleness.keys()].toSorted()).toEqual(["apart", "reader"]);
    expect(
      rt.errors
        .list()
        .map(({ input }) => input)
        .toSorted(),
    ).toEqual(["a", "b", "c"]);
    source.set(stack("c", [], true));
    expect(rt.errors.size).toBe(0);
    expect(staleness.list().filter(({ stale }) => stale).length).toBe(5);
  });

  it("an input that reads itself is a circle of one", () => {
    const { errors, staleness } = build([stack("a", ["a"])]);
    expect(errors[0]?.details.path).toEqual(["a", "a"]);
    expect(staleness.size).toBe(0);
  });

  it("a circle that the transformation catches is one all the same", () => {
    const errors: KrtError[] = [];
    const rt = createRuntime({ onError: (error) => errors.push(error) });
    const source = rt.source(["a"]);
    const own = rt.deriveRecursive(source, (_, key, outputOf: OutputOf<string>) => {
      try {
        outputOf("a");
      } catch {}
      return key;
    });
    expect(own.size).toBe(0);
    expect(errors.map(({ code }) => code)).toEqual(["KRT_CYCLE"]);
  });

  it("chains may be long, in whatever order they come", () => {
    const length = 5000;
    const keys = Array.from({ length }, (_, i) => `${i}`);
    const chain = keys.map((key, i) => stack(key, i + 1 < length ? [`${i + 1}`] : []));
    const { source, staleness, runs } = build(chain);
    expect(runs.length).toBe(length);
    source.set(stack(`${length - 1}`, [], true));
    expect(staleness.get("0")?.stale).toBe(true);
    source.set(stack(`${length - 1}`, ["0"]));
    expect(staleness.size).toBe(0);
  });

  it("keeps the rules of transformations: strict mode, audits, use after the run", () => {
    const { rt, source, errors } = build([stack("a"), stack("b", ["a"])], { strict: "full" });
    source.set(stack("a", [], true));
    expect(rt.audit({ sample: 10 })).toEqual([]);
    expect(errors).toEqual([]);
    let kept: OutputOf<string> | undefined;
    rt.deriveRecursive(rt.source(["x"]), (_, key, outputOf: OutputOf<string>) => {
      kept = outputOf;
      return key;
    });
    expect(() => kept?.("x")).toThrow("outside of a run");
  });

  it("the inspector says what reads what", () => {
    const { rt, staleness } = build([stack("a", [], true), stack("b", ["a", "none"])]);
    const inspector = rt.inspect();
    expect(inspector.explain(staleness, "b")?.dependencies).toEqual([
      { collection: "staleness", filters: "output of input a", matches: 1 },
      { collection: "staleness", filters: "output of input none", matches: 0 },
    ]);
    const reader = [{ collection: "staleness", input: "b" }];
    expect(inspector.dependants(staleness, "a")).toEqual(reader);
    expect(inspector.dependants(staleness, "none")).toEqual(reader);
  });

  it("forgets places without an object and without a reader", () => {
    const { rt, source, staleness } = build([]);
    for (let i = 0; i < 5; i++) source.set(stack(`${i}`, [`${i + 1}`, "never"]));
    for (let i = 0; i < 5; i++) source.delete(`${i}`);
    expect(rt.inspect().dependants(staleness, "never")).toEqual([]);
    expect(staleness.size).toBe(0);
  });
});
