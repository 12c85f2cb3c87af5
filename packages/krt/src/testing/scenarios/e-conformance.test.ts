import { describe, it } from "vitest";
import {
  type Collection,
  type CollectionOptions,
  type InputCollection,
  type Runtime,
  where,
} from "../../index.ts";
import {
  type ConformanceRig,
  collectionConformance,
  type ReplaceRig,
  replaceConformance,
} from "../conformance.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import { createRig } from "./fixtures.ts";

interface Thing {
  readonly key: string;
}

/** What differs from type to type: how the collection is made, and how its contents change. */
interface Setup {
  readonly collection: Collection<unknown>;
  create(key: string): void | Promise<void>;
  remove(key: string): void | Promise<void>;
  replace?(from: string, to: string): void;
}

type CreateSetup = (rt: Runtime, options: CollectionOptions) => Setup;

/** Changes go to a source and reach the collection through whatever is in between. */
function through(
  source: InputCollection<Thing>,
  collection: Collection<unknown>,
  rt: Runtime,
): Required<Setup> {
  return {
    collection,
    create: (key) => source.set({ key }),
    remove: (key) => source.delete(key),
    replace: (from, to) =>
      rt.batch(() => {
        source.delete(from);
        source.set({ key: to });
      }),
  };
}

const setups: Record<string, CreateSetup> = {
  source: (rt, options) => {
    const source = rt.source<Thing>([], options);
    return through(source, source, rt);
  },
  "one to one": (rt, options) => {
    const source = rt.source<Thing>();
    return through(
      source,
      rt.derive(source, (_, { key }) => ({ key, n: 1 }), options),
      rt,
    );
  },
  "one to many": (rt, options) => {
    // Namespaces are the primary, names are fetched, and the outputs are the pairs.
    const namespaces = rt.source<Thing>();
    const names = rt.source<{ key: string; namespace: string; name: string }>();
    const pairs = rt.deriveMany(
      namespaces,
      (ctx, { key }) =>
        ctx
          .fetch(
            names,
            where((name) => name.namespace === key),
          )
          .map(({ name }) => ({ key: `${key}/${name}` })),
      options,
    );
    const parts = (key: string) => {
      const [namespace = "", name = ""] = key.split("/");
      return { key, namespace, name };
    };
    return {
      collection: pairs,
      create: (key) => {
        namespaces.set({ key: parts(key).namespace });
        names.set(parts(key));
      },
      remove: (key) => names.delete(key),
      replace: (from, to) =>
        rt.batch(() => {
          names.delete(from);
          names.set(parts(to));
        }),
    };
  },
  "many from nothing": (rt, options) => {
    const source = rt.source<Thing>();
    return through(
      source,
      rt.deriveManyFrom((ctx) => ctx.fetch(source).map(({ key }) => ({ key })), options),
      rt,
    );
  },
  "checked join": (rt, options) => {
    const members = [rt.source<Thing>(), rt.source<Thing>()] as const;
    let turn = 0;
    return {
      collection: rt.join([...members], options),
      create: (key) => members[turn++ % 2]?.set({ key }),
      remove: (key) => rt.batch(() => members.forEach((member) => member.delete(key))),
      replace: (from, to) =>
        rt.batch(() => {
          for (const member of members) member.delete(from);
          members[1].set({ key: to });
        }),
    };
  },
  "unchecked join": (rt, options) => {
    const [a, b] = [rt.source<Thing>(), rt.source<Thing>()];
    return through(a, rt.join([a, b], { ...options, unchecked: true }), rt);
  },
  "merge join": (rt, options) => {
    const [a, b] = [rt.source<Thing>(), rt.source<Thing>()];
    const merge = (versions: readonly Thing[]) => versions[0];
    return through(b, rt.join([a, b], { ...options, merge }), rt);
  },
  "nested join": (rt, options) => {
    const inner = rt.source<Thing>();
    const container = rt.source<Collection<Thing>>([rt.source<Thing>(), inner]);
    return through(inner, rt.joinNested(container, options), rt);
  },
  view: (rt, options) => {
    const source = rt.source<Thing>();
    return through(
      source,
      rt.view(source, ({ key }) => ({ key, seen: true }), options),
      rt,
    );
  },
  "view of a view": (rt, options) => {
    const source = rt.source<Thing>([], options);
    const inner = rt.view(source, ({ key }) => ({ key, seen: true }));
    return through(
      source,
      rt.view(inner, ({ key, seen }) => ({ key, twice: seen })),
      rt,
    );
  },
  "status collection": (rt, options) => {
    const source = rt.source<Thing>();
    const transformation = (_: unknown, { key }: Thing) => ({
      status: { ok: true },
      output: { key },
    });
    return through(source, rt.deriveWithStatus(source, transformation, options).status, rt);
  },
  "output beside a status": (rt, options) => {
    const source = rt.source<Thing>();
    const transformation = (_: unknown, { key }: Thing) => ({
      status: { ok: true },
      output: [{ key }],
    });
    return through(source, rt.deriveManyWithStatus(source, transformation, options).output, rt);
  },
  "groups of an index": (rt, options) => {
    const source = rt.source<Thing>();
    return through(source, rt.index(source, ({ key }) => key).asCollection(options), rt);
  },
};

/** Turns that yield after every look at the clock, so that everything happens in slices. */
function createSliced() {
  const scheduler = new ManualScheduler(1);
  const { rt } = createRig({ scheduler, sliceMs: 0.5, maxTurnMs: 0.5 });
  const settled = async () => {
    const done = rt.settled();
    scheduler.run();
    await done;
    await Promise.resolve();
    scheduler.run();
  };
  return { rt, settled };
}

function createPlain() {
  const { rt } = createRig();
  return { rt, settled: () => rt.settled() };
}

const modes = { "turns at once": createPlain, "turns in slices": createSliced };

describe("conformance of every type of collection", () => {
  for (const [mode, createRuntime] of Object.entries(modes)) {
    describe.each(Object.entries(setups))(`${mode}: %s`, (_, createSetup) => {
      const open = async (): Promise<ConformanceRig & ReplaceRig> => {
        const { rt, settled } = createRuntime();
        const setup = createSetup(rt, { metadata: { foo: "bar" } });
        await settled();
        return {
          collection: setup.collection,
          create: async (key) => {
            await setup.create(key);
            await settled();
          },
          remove: async (key) => {
            await setup.remove(key);
            await settled();
          },
          replace: async (from, to) => {
            setup.replace?.(from, to);
            await settled();
          },
          settled,
          [Symbol.asyncDispose]: async () => rt.dispose(),
        };
      };
      for (const { name, run } of collectionConformance) {
        it(name, async () => {
          await using rig = await open();
          await run(rig);
        });
      }
      it(replaceConformance.name, async () => {
        await using rig = await open();
        await replaceConformance.run(rig);
      });
    });
  }
});

describe("S093 on singletons", () => {
  it("a cell", async () => {
    const { rt } = createRig();
    const cell = rt.cell<string>();
    await replaceConformance.run({
      collection: cell,
      create: (key) => cell.set(key),
      replace: (_, to) => cell.set(to),
      settled: () => rt.settled(),
    });
  });

  it("a derived singleton", async () => {
    const { rt } = createRig();
    const cell = rt.cell<string>();
    const derived = rt.deriveSingleton((ctx) => ctx.fetchOne(cell));
    await replaceConformance.run({
      collection: derived,
      create: (key) => cell.set(key),
      replace: (_, to) => cell.set(to),
      settled: () => rt.settled(),
    });
  });
});
