import fc from "fast-check";
import { expect, it } from "vitest";
import { createRuntime, kind } from "../index.ts";

interface Item {
  readonly namespace?: string;
  readonly name: string;
  readonly v: number;
}

const ITEM = kind<Item>()({ name: (item) => item.name, namespace: (item) => item.namespace });
const keyOf = ({ namespace, name }: Item): string =>
  namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;

// Names whose keys are the same although their parts are not, too.
const item = fc.record(
  {
    namespace: fc.constantFrom("", "a", "a/b"),
    name: fc.constantFrom("b", "c", "b/c", "a/b/c", "d", "e"),
    v: fc.nat(3),
  },
  { requiredKeys: ["name", "v"] },
);
const step = fc.oneof(
  fc.record({ do: fc.constant("set" as const), item }),
  fc.record({ do: fc.constant("delete" as const), item }),
  fc.record({ do: fc.constant("batch" as const), items: fc.array(item, { maxLength: 6 }) }),
  fc.record({ do: fc.constant("undone" as const), items: fc.array(item, { maxLength: 6 }) }),
  // All objects again, in the order of the collection: the way on which rows are not looked up.
  fc.record({ do: fc.constant("again" as const), v: fc.nat(3), skip: fc.nat(4) }),
  fc.record({ do: fc.constant("reset" as const), items: fc.array(item, { maxLength: 6 }) }),
);

it("a source is a map, in whatever order it is written", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const rt = createRuntime();
      const source = rt.source<Item>([], { kind: ITEM });
      const model = new Map<string, Item>();
      const seen = new Map<string, Item>();
      source.subscribe((event) => {
        expect(seen.get(event.key)).toEqual(event.old);
        if (event.new === undefined) seen.delete(event.key);
        else seen.set(event.key, event.new);
      });
      const set = (one: Item): void => {
        source.set(one);
        model.set(keyOf(one), one);
      };
      // Out of order for so long that rows are found by their names from then on.
      for (let i = 0; i < 60; i++) set({ name: i % 2 === 0 ? "e" : "d", v: i % 3 });
      for (const one of steps) {
        if (one.do === "set") set(one.item);
        else if (one.do === "delete") {
          source.delete(keyOf(one.item));
          model.delete(keyOf(one.item));
        } else if (one.do === "batch") rt.batch(() => one.items.forEach(set));
        else if (one.do === "undone") {
          const fail = () =>
            rt.transaction(() => {
              for (const each of one.items) source.set(each);
              throw new Error("undo");
            });
          expect(fail).toThrow("undo");
        } else if (one.do === "again") {
          for (const [i, each] of Array.from(source.list()).entries()) {
            if (i !== one.skip) set({ ...each, v: one.v });
          }
        } else {
          const wanted = new Map(one.items.map((each) => [keyOf(each), each]));
          source.reset(wanted.values());
          model.clear();
          for (const [key, each] of wanted) model.set(key, each);
        }
        expect(new Map(source.list().map((each) => [keyOf(each), each.v]))).toEqual(
          new Map(Array.from(model, ([key, each]) => [key, each.v])),
        );
        expect(source.size).toBe(model.size);
        for (const [key, each] of model) expect(source.get(key)?.v).toBe(each.v);
      }
      rt.dispose();
    }),
  );
});
