import { Path } from "@stackwright/cty";
import {
  computed,
  createProvider,
  defineDataSource,
  defineFunction,
  defineResource,
  type KitContext,
  optional,
  PartialFailure,
  ProviderFailure,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";

/** An object as the toy world has it. */
interface ToyObject {
  readonly name: string;
  readonly label: string | null;
  readonly revision: number;
}

/** Where toys are, and what was done to them; lives outside of the provider, which has no memory. */
export interface ToyWorld {
  readonly objects: Map<string, ToyObject>;
  readonly calls: string[];
}

export function createToyWorld(): ToyWorld {
  return { objects: new Map(), calls: [] };
}

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** A provider for acceptance runs, with a behaviour for everything that can go wrong. */
export function createToyProvider(world: ToyWorld): LifecycleProvider {
  let next = world.objects.size;
  return createProvider({
    config: { token: optional(types.string, { sensitive: true }) },
    validate: ({ token }) =>
      token === "wrong" ? [{ severity: "error", summary: "The token is wrong", detail: "" }] : [],
    configure: ({ token }) => {
      world.calls.push(`configure ${token}`);
      return world;
    },
    functions: {
      shout: defineFunction({
        parameters: [{ name: "text", type: types.string }],
        result: types.string,
        call: (text) => `${text}!`,
      }),
    },
    dataSources: {
      toy_lookup: defineDataSource({
        attributes: { id: required(types.string), name: computed(types.string) },
        read: ({ id }, { client }: { client: ToyWorld }) => {
          world.calls.push(`lookup ${id}`);
          return { name: client.objects.get(id)?.name ?? null };
        },
      }),
    },
    resources: {
      toy_thing: defineResource({
        attributes: {
          id: computed(types.string, { stable: true }),
          name: required(types.string, { replaces: true }),
          label: optional(types.string),
          size: optional(types.exactNumber),
          tags: optional(types.set(types.string)),
          flavours: optional(types.list(types.string)),
          notes: optional(types.map(types.string)),
          point: optional(types.object({ x: types.exactNumber, y: types.string })),
          anything: optional(types.any),
          text: optional(types.string),
          secret: optional(types.string, { writeOnly: true }),
          behaviour: optional(types.string),
          revision: computed(types.number),
        },
        async create({ name, label, behaviour, secret }, { client, signal }: KitContext<ToyWorld>) {
          const id = `${name}-${++next}`;
          client.calls.push(`create ${name}${secret === null ? "" : ` secret=${String(secret)}`}`);
          const made = { name: name ?? "", label: label ?? null, revision: 1 };
          if (behaviour === "hang") await hang(signal);
          if (behaviour === "fail") {
            const attribute = Path.root.attribute("behaviour");
            throw new ProviderFailure("Out of toys", "Come back tomorrow.", { attribute });
          }
          client.objects.set(id, made);
          if (behaviour === "partial") {
            throw new PartialFailure({ id, revision: 1 }, "Half a toy", "The wheels are missing.");
          }
          return { id, revision: 1, ...(behaviour === "cheat" ? { label: "another" } : {}) };
        },
        read: ({ id }, { client }) => {
          const found = client.objects.get(id ?? "");
          return found && { label: found.label, revision: found.revision };
        },
        async update({ name, label, behaviour }, prior, { client }) {
          client.calls.push(`update ${name}`);
          if (behaviour === "fail") throw new ProviderFailure("Out of paint");
          const revision = (prior.revision ?? 0) + 1;
          client.objects.set(prior.id ?? "", { name: name ?? "", label: label ?? null, revision });
          return { revision };
        },
        delete: ({ id, name }, { client }) => {
          client.calls.push(`delete ${name}`);
          client.objects.delete(id ?? "");
        },
        import: (id, { client }) => {
          const found = client.objects.get(id);
          return found && { id, ...found };
        },
      }),
    },
  });
}
