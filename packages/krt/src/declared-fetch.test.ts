import { describe, expect, it } from "vitest";
import { byIndex, byKey, createRuntime, inputFetch, type KrtError, staticFetch } from "./index.ts";
import { graphOf } from "./testing/oracle/invariants.ts";

function build() {
  const errors: KrtError[] = [];
  const rt = createRuntime({ onError: (error) => errors.push(error) });
  const inputs = rt.source(
    Array.from({ length: 100 }, (_, i) => ({ key: `i${i}`, group: `g${i % 4}` })),
  );
  const things = rt.source([{ key: "t0", group: "g0" }]);
  const byGroup = rt.index(things, (thing) => thing.group);
  const settings = rt.cell({ key: "settings", on: true });
  return { rt, errors, inputs, things, byGroup, settings };
}

describe("declared fetches", () => {
  it("give the same as fetches in the transformation", () => {
    const { rt, inputs, things, byGroup, settings, errors } = build();
    const declared = rt.derive(
      inputs,
      (_, { key }, { mine, setting }) => ({ key, n: mine.length, on: setting[0]?.on }),
      {
        fetches: {
          mine: inputFetch(things, (input: { group: string }) => [byIndex(byGroup, input.group)]),
          setting: staticFetch(settings),
        },
      },
    );
    const dynamic = rt.derive(inputs, (ctx, { key, group }) => ({
      key,
      n: ctx.fetch(things, byIndex(byGroup, group)).length,
      on: ctx.fetch(settings)[0]?.on,
    }));
    const same = () => expect(declared.list()).toEqual(dynamic.list());
    same();
    things.set({ key: "t1", group: "g1" });
    same();
    expect(declared.get("i1")).toEqual({ key: "i1", n: 1, on: true });
    settings.set({ key: "settings", on: false });
    same();
    inputs.set({ key: "new", group: "g0" });
    inputs.delete("i0");
    same();
    expect(errors).toEqual([]);
  });

  it("that are the same for all inputs cost nothing per input", () => {
    const { rt, inputs, settings } = build();
    let runs = 0;
    rt.deriveMany(
      inputs,
      (_, { key }, { setting }) => {
        runs++;
        return [`${key}${setting[0]?.on}`];
      },
      { name: "D", fetches: { setting: staticFetch(settings, byKey("settings")) } },
    );
    const fetch = rt
      .inspect()
      .edges()
      .find((edge) => edge.type === "fetch");
    expect(fetch).toMatchObject({ to: "D", count: 1, filters: ["key settings"] });
    runs = 0;
    settings.set({ key: "settings", on: false });
    expect(runs).toBe(100);
    expect(rt.inspect().dependants(settings, "settings").length).toBe(100);
    runs = 0;
    rt.batch(() => {
      settings.set({ key: "settings", on: true });
      inputs.set({ key: "i1", group: "other" });
    });
    expect(runs, "each input once").toBe(100);
  });

  it("are known before the first run: levels, and waiting for sync", () => {
    const { rt, inputs } = build();
    const late = rt.source<string>([], { synced: false });
    const deep = rt.derive(
      rt.derive(late, (_, s) => s),
      (_, s) => s,
    );
    let runs = 0;
    const derived = rt.derive(
      inputs,
      (_, { key }, { all }) => {
        runs++;
        return { key, n: all.length };
      },
      { name: "D", fetches: { all: staticFetch(deep) } },
    );
    const info = () =>
      rt
        .inspect()
        .collections()
        .find((one) => one.name === "D");
    expect(info()?.level).toBe(3);
    expect([runs, derived.synced]).toEqual([0, false]);
    late.set("x");
    late.markSynced();
    expect(derived.synced).toBe(true);
    expect(derived.get("i7")).toEqual({ key: "i7", n: 1 });
    expect([runs, info()?.counters.abandoned]).toEqual([100, 0]);
  });

  it("show in explanations and dumps, and end with the derivation", () => {
    const { rt, inputs, settings, things } = build();
    const derived = rt.derive(
      inputs,
      (ctx, { key }, { setting }) => `${key}${setting.length}${ctx.fetch(things).length}`,
      {
        fetches: { setting: staticFetch(settings) },
      },
    );
    expect(
      rt
        .inspect()
        .explain(derived, "i1")
        ?.dependencies.map((one) => one.collection),
    ).toEqual([settings.name, things.name]);
    const dumped = rt
      .inspect()
      .dump()
      .find((one) => one.name === derived.name);
    expect(dumped?.state.inputs?.i1?.dependencies).toEqual([settings.name, things.name].sort());
    derived.dispose();
    expect([...graphOf(rt).nodes].map((node) => node.queries.size)).toEqual([0, 0, 0]);
    expect(rt.inspect().edges()).toEqual([]);
  });
});
