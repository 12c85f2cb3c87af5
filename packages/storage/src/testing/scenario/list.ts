import assert from "node:assert/strict";
import type { Resource } from "../../resource.ts";
import type { ReadConsistency, StorageBackend } from "../../types.ts";
import { assertCode, assertSameSet, eventually } from "../assertions.ts";
import type { Scenario, ScenarioContext, ScenarioGroup } from "../harness.ts";
import { A1, EVERYWHERE, HOME, SEED, SEED_FILTERS, sample } from "../samples.ts";

/** Stores the seed set one by one and gives it with its versions. */
export async function writeSeed(storage: StorageBackend): Promise<readonly Resource[]> {
  const stored: Resource[] = [];
  for (const resource of SEED) stored.push(await storage.writeCAS(resource));
  return stored;
}

const filterScenarios: readonly Scenario[] = SEED_FILTERS.map((filter) => ({
  title: `selects ${filter.title}`,
  run: async (context) => {
    const stored = await writeSeed(context.storage);
    const expected = filter.selects.map((position) => stored[position] as Resource);
    await inEachMode(context, async (mode) => {
      const found = await context.storage.list(mode, filter.type, filter.tenancy, filter.prefix);
      assertSameSet(found, expected);
    });
  },
}));

/** Lists: filters, prefixes, wildcards, completeness. */
export const LIST_SCENARIOS: ScenarioGroup = {
  title: "list",
  scenarios: [
    ...filterScenarios,
    {
      title: "takes a whole name as a prefix, and minds the case",
      run: async (context) => {
        const stored = await writeSeed(context.storage);
        await inEachMode(context, async (mode) => {
          const names = async (prefix: string): Promise<readonly Resource[]> =>
            context.storage.list(mode, A1, HOME, prefix);
          assertSameSet(await names("admin"), [stored[0] as Resource]);
          assertSameSet(await names("adminx"), []);
          assertSameSet(await names("Admin"), []);
        });
      },
    },
    {
      title: "has no pattern characters in prefixes",
      run: async (context) => {
        const names = ["a_c", "abc", "a%c", "a*c", "a\\c", "a[c", "a?c"];
        for (const name of names) await context.storage.writeCAS(sample(A1, HOME, name));
        await inEachMode(context, async (mode) => {
          for (const name of names) {
            const found = await context.storage.list(mode, A1, HOME, name.slice(0, 2));
            assert.deepEqual(
              found.map((resource) => resource.id.name),
              [name],
            );
          }
        });
      },
    },
    {
      title: "does not confuse keys whose parts join to the same text",
      run: async (context) => {
        const type = (group: string, kind: string) => ({ group, kind, groupVersion: "v1" });
        const pairs = [
          [type("test", "abc"), HOME, "x"],
          [type("testa", "bc"), HOME, "x"],
          [A1, { ...HOME, namespace: "n" }, "xy"],
          [A1, { ...HOME, namespace: "nx" }, "y"],
          [A1, { ...HOME, partition: "p", peerName: "qr" }, "z"],
          [A1, { ...HOME, partition: "pq", peerName: "r" }, "z"],
        ] as const;
        const stored: Resource[] = [];
        for (const [kind, tenancy, name] of pairs) {
          stored.push(await context.storage.writeCAS(sample(kind, tenancy, name)));
        }
        await inEachMode(context, async (mode) => {
          for (const resource of stored) {
            const { type: kind, tenancy } = resource.id;
            assertSameSet(await context.storage.list(mode, kind, tenancy, ""), [resource]);
          }
        });
      },
    },
    {
      title: "does not confuse a tenancy unit with one whose name it begins",
      run: async (context) => {
        const stored: Resource[] = [];
        for (const namespace of ["n", "n\u0001", "n ", "nn", "n0", ""]) {
          for (const name of ["a", "b"]) {
            const resource = sample(A1, { ...HOME, namespace }, name);
            stored.push(await context.storage.writeCAS(resource));
          }
        }
        await inEachMode(context, async (mode) => {
          for (const resource of stored) {
            const { tenancy, name } = resource.id;
            assertSameSet(await context.storage.list(mode, A1, tenancy, name), [resource]);
          }
          const named = await context.storage.list(mode, A1, { ...HOME, namespace: "*" }, "b");
          assertSameSet(
            named,
            stored.filter((resource) => resource.id.name === "b"),
          );
        });
      },
    },
    {
      title: "gives nothing for a type that was never written",
      run: async (context) => {
        await inEachMode(context, async (mode) => {
          const type = { group: "never", kind: "written" };
          assert.deepEqual(await context.storage.list(mode, type, EVERYWHERE, ""), []);
        });
      },
    },
    {
      title: "matches an empty namespace by the wildcard and by an empty one only",
      run: async (context) => {
        const bare = { ...HOME, namespace: "" };
        const stored = await context.storage.writeCAS(sample(A1, bare, "bare"));
        const homely = await context.storage.writeCAS(sample(A1, HOME, "homely"));
        await inEachMode(context, async (mode) => {
          const found = async (namespace: string): Promise<readonly Resource[]> =>
            context.storage.list(mode, A1, { ...HOME, namespace }, "");
          assertSameSet(await found("*"), [stored, homely]);
          assertSameSet(await found(""), [stored]);
          assertSameSet(await found(HOME.namespace), [homely]);
        });
      },
    },
    {
      title: "gives each of 2,500 resources once",
      run: async (context) => {
        const names = Array.from({ length: 2_500 }, (_, index) => `r${index}`);
        for (let start = 0; start < names.length; start += 100) {
          const some = names.slice(start, start + 100);
          await Promise.all(some.map((name) => context.storage.writeCAS(sample(A1, HOME, name))));
        }
        await inEachMode(context, async (mode) => {
          const found = await context.storage.list(mode, A1, EVERYWHERE, "r");
          assert.deepEqual(found.map((resource) => resource.id.name).toSorted(), names.toSorted());
        });
      },
    },
    {
      title: "fails with Inconsistent rather than answer weakly without strong lists",
      applies: (capabilities) => !capabilities.strongList,
      run: async ({ storage }) => {
        await assertCode(storage.list("strong", A1, HOME, ""), "STORAGE_INCONSISTENT");
      },
    },
    {
      title: "gives Inconsistent for an unknown consistency mode",
      run: async ({ storage }) => {
        const mode = "sequential" as ReadConsistency;
        await assertCode(storage.list(mode, A1, HOME, ""), "STORAGE_INCONSISTENT");
      },
    },
  ],
};

/** Asserts at once with strong lists where there are any, and in the end with eventual ones. */
async function inEachMode(
  context: ScenarioContext,
  assertion: (mode: ReadConsistency) => Promise<void>,
): Promise<void> {
  if (context.capabilities.strongList) await assertion("strong");
  await eventually(() => assertion("eventual"));
}
