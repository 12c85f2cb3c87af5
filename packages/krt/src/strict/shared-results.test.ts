import { expect, it } from "vitest";
import { byKey, createRuntime, type KrtError } from "../index.ts";

interface Item {
  readonly key: string;
  readonly tags: string[];
}

function rig(strict: "cheap" | "full") {
  const errors: KrtError[] = [];
  const rt = createRuntime({ strict, onError: (error) => errors.push(error) });
  const given: Item = { key: "a", tags: ["x"] };
  return { rt, errors, given, source: rt.source([given]) };
}

it.each(["cheap", "full"] as const)("%s: lists that readers share cannot be changed", (strict) => {
  const { rt, source, errors } = rig(strict);
  expect(() => (source.list() as Item[]).pop()).toThrow(TypeError);
  expect(source.list()).toEqual([{ key: "a", tags: ["x"] }]);
  rt.derive(rt.source(["i"]), (ctx, key) => {
    (ctx.fetch(source) as Item[]).pop();
    return key;
  });
  expect(errors.length).toBe(1);
});

it.each(["cheap", "full"] as const)(
  "%s: handlers cannot change the event of others",
  async (strict) => {
    const { rt, source } = rig(strict);
    const caught: unknown[] = [];
    const seen: string[] = [];
    source.subscribe(
      (event) => {
        try {
          (event as { key: string }).key = "changed";
        } catch (error) {
          caught.push(error);
        }
      },
      { replay: false },
    );
    source.subscribe((event) => void seen.push(event.key), { replay: false });
    source.set({ key: "b", tags: [] });
    rt.batch(() => {
      source.set({ key: "c", tags: [] });
      source.set({ key: "d", tags: [] });
    });
    await rt.settled();
    expect(seen).toEqual(["b", "c", "d"]);
    expect(caught.length).toBe(3);
    source.set({ key: "b", tags: ["later"] });
    source.delete("c");
    expect(source.get("b")?.tags).toEqual(["later"]);
  },
);

it("full: objects in collections cannot be changed, those that were put in included", () => {
  const { rt, source, given } = rig("full");
  const derived = rt.derive(source, (_, { key, tags }) => ({ key, inner: { tags: [...tags] } }));
  const groups = rt.index(source, ({ tags }) => tags).asCollection();
  const index = rt.index(source, ({ key }) => key);
  const changes: (() => unknown)[] = [
    () => given.tags.push("y"),
    () => source.get("a")?.tags.push("y"),
    () => index.lookup("a")[0]?.tags.push("y"),
    () => derived.get("a")?.inner.tags.push("y"),
    () => (groups.list()[0] as unknown as { objects: Item[] }).objects.pop(),
  ];
  for (const change of changes) expect(change).toThrow(TypeError);
  expect([source.get("a")?.tags, groups.get("x")?.objects.length]).toEqual([["x"], 1]);
});

it("full: the value of an external may still be modified in place", () => {
  const { rt, errors } = rig("full");
  const list = rt.external(["a"]);
  const derived = rt.deriveManyFrom((ctx) => list.get(ctx));
  list.modify((keys) => void keys.push("b"));
  expect([[...derived.keys()], errors]).toEqual([["a", "b"], []]);
  expect(rt.deriveSingleton((ctx) => ctx.fetchOne(derived, byKey("b"))).value).toBe("b");
});
