import { Value } from "@stackwright/cty";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  optionalComputed,
  required,
  types,
} from "@stackwright/mux/kit";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import { serveLifecycleProvider } from "../serve/lifecycle-transport.ts";
import { createPluginClient } from "./plugin-client.ts";

interface Note {
  readonly text: string | null;
  readonly revision: number;
}

/** A provider made with the kit; its objects live in a map. */
function notebook() {
  const notes = new Map<string, Note>();
  return createProvider({
    config: { owner: optional(types.string) },
    configure: () => notes,
    resources: {
      nb_note: defineResource({
        attributes: {
          id: computed(types.string, { stable: true }),
          name: required(types.string, { replaces: true }),
          text: optional(types.string),
          slug: optionalComputed(types.string, { stable: true }),
          revision: computed(types.number),
        },
        create({ name, text }) {
          const key = name ?? "";
          notes.set(key, { text: text ?? null, revision: 1 });
          return { id: key, slug: key.toUpperCase(), revision: 1 };
        },
        read: ({ name }) => notes.get(name),
        update({ name, text }, prior) {
          const revision = (prior.revision ?? 0) + 1;
          notes.set(name ?? "", { text: text ?? null, revision });
          return { revision };
        },
        delete: ({ name }) => void notes.delete(name),
        import(id) {
          const found = notes.get(id);
          return found && { id, name: id, slug: id.toUpperCase(), ...found };
        },
      }),
    },
  });
}

/* The contract of lifecycle providers holds through messages and back, in both protocols. */
for (const protocol of [5, 6] as const) {
  describeLifecycleProvider(
    `a provider of the kit through protocol ${protocol}`,
    async () => {
      const transport = serveLifecycleProvider(notebook(), { protocol });
      const provider = createPluginClient(transport);
      const config = Value.object({ owner: Value.string("me") });
      await provider.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
      return { provider, [Symbol.asyncDispose]: async () => provider.close() };
    },
    {
      type: "nb_note",
      config: { name: Value.string("a"), text: Value.string("x") },
      changed: { name: Value.string("a"), text: Value.string("y") },
      replaced: { name: Value.string("b"), text: Value.string("x") },
      importable: true,
    },
  );
}
