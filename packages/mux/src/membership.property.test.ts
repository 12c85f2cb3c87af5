import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeSchemas } from "./core/merge-schemas.ts";
import type { PackageSchema } from "./core/package-schema.ts";
import { createMux } from "./mux.ts";
import type { MuxProfile, MuxServer } from "./mux-options.ts";
import { unimplementedProvider } from "./unimplemented-provider.ts";

const numRuns = Math.round(60 * Number(process.env.STACKWRIGHT_RUNS ?? 1));

/** A server by the tokens it defines, with or without list inputs. */
interface Desc {
  readonly tokens: readonly { readonly token: string; readonly listable: boolean | null }[];
  readonly keys: readonly string[];
}

type Change =
  | { readonly type: "add"; readonly desc: Desc }
  | { readonly type: "replace"; readonly at: number; readonly desc: Desc }
  | { readonly type: "remove"; readonly at: number };

const desc: fc.Arbitrary<Desc> = fc.record({
  tokens: fc.uniqueArray(
    fc.record({
      token: fc.constantFrom("p:i:A", "p:i:B", "p:i:C"),
      listable: fc.constantFrom(true, false, null),
    }),
    { selector: ({ token }) => token },
  ),
  keys: fc.uniqueArray(fc.constantFrom("region", "token")),
});

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ type: fc.constant("add" as const), desc }),
  fc.record({ type: fc.constant("replace" as const), at: fc.nat(5), desc }),
  fc.record({ type: fc.constant("remove" as const), at: fc.nat(5) }),
);

interface Known {
  readonly name: string;
  readonly schema: PackageSchema;
}

function known(name: string, { tokens, keys }: Desc): Known {
  const resource = ({ listable }: Desc["tokens"][number]) => ({
    description: name,
    ...(listable === true && { listInputs: { of: name } }),
    ...(listable === null && { listInputs: null }),
  });
  return {
    name,
    schema: {
      name: "p",
      config: { variables: Object.fromEntries(keys.map((key) => [key, { type: "string" }])) },
      resources: Object.fromEntries(tokens.map((one) => [one.token, resource(one)])),
    },
  };
}

/** A server that answers List and Create with its name. */
function serverOf({ name, schema }: Known): MuxServer {
  return {
    name,
    connect: () => ({
      ...unimplementedProvider(),
      getSchema: async () => ({ schema: JSON.stringify(schema) }),
      create: async () => ({ id: name, properties: undefined, refreshBeforeUpdate: false }),
    }),
  };
}

async function run(profile: MuxProfile, first: Desc, changes: readonly Change[]): Promise<void> {
  let number = 0;
  const next = (from: Desc) => known(`s${number++}`, from);
  let list: Known[] = [next(first)];
  await using mux = await createMux({ servers: list.map(serverOf), profile });
  const wins = profile === "seed" ? "first-wins" : "last-wins";
  for (const one of changes) {
    if (one.type === "add") {
      const added = next(one.desc);
      await mux.addServer(serverOf(added));
      list = [...list, added];
    } else if (one.type === "replace") {
      const at = one.at % list.length;
      const replacement = next(one.desc);
      await mux.replaceServer(list[at]?.name ?? "", serverOf(replacement));
      list = list.map((server, index) => (index === at ? replacement : server));
    } else if (list.length > 1) {
      const at = one.at % list.length;
      await mux.removeServer(list[at]?.name ?? "");
      list = list.filter((_, index) => index !== at);
    }
    const merged = mergeSchemas(
      list.map(({ name, schema }) => ({ server: name, schema })),
      { tokens: wins, types: wins },
    );
    const request = { version: 0, subpackageName: "", subpackageVersion: "" };
    const { schema: text } = await mux.getSchema(request, {});
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(merged.schema)));
    expect(mux.dispatchTable).toEqual(merged.dispatchTable);
    agreeWithNaive(list, wins, JSON.parse(text), mux.dispatchTable.listResources);
  }
}

/** The rules for resources, said once more without regard to cost. */
function agreeWithNaive(
  list: readonly Known[],
  wins: "first-wins" | "last-wins",
  schema: { resources?: Record<string, { description: string; listInputs?: { of: string } }> },
  listers: ReadonlyMap<string, number> | undefined,
): void {
  type Resources = Record<string, { description: string; listInputs?: { of: string } | null }>;
  const order = wins === "first-wins" ? list : [...list].reverse();
  const resourcesOf = ({ schema: own }: Known) => (own as { resources: Resources }).resources;
  const tokens = new Set(list.flatMap((server) => Object.keys(resourcesOf(server))));
  expect(new Set(Object.keys(schema.resources ?? {}))).toEqual(tokens);
  for (const token of tokens) {
    const definers = order.filter((server) => token in resourcesOf(server));
    const canList = (server: Known) => Boolean(resourcesOf(server)[token]?.listInputs);
    const [owner] = definers;
    const lister = owner !== undefined && canList(owner) ? owner : definers.find(canList);
    expect(schema.resources?.[token]?.description).toBe(owner?.name);
    expect(schema.resources?.[token]?.listInputs?.of).toBe(lister?.name);
    expect(list[listers?.get(token) ?? -1]?.name).toBe(lister?.name);
  }
}

describe("random changes of servers", () => {
  it.each(["seed", "upstream"] as const)(
    "%s: lead to what the servers as they are then give",
    async (profile) => {
      await fc.assert(
        fc.asyncProperty(desc, fc.array(change, { maxLength: 6 }), (first, changes) =>
          run(profile, first, changes),
        ),
        { numRuns },
      );
    },
  );
});
