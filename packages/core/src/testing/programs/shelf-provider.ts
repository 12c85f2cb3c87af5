import { toPulumiProvider } from "@stackwright/mux/adapters";
import { runProvider } from "@stackwright/mux/host";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";

/*
 * A provider process of the Pulumi protocol for tests: books on a shelf, which is gone with the process.
 */

const provider = createProvider({
  config: {},
  configure: () => new Set<string>(),
  resources: {
    shelf_book: defineResource({
      attributes: {
        title: required(types.string, { replaces: true }),
        pages: required(types.number),
        slug: computed(types.string),
      },
      create: ({ title, pages }) => ({ slug: `${title?.toLowerCase()}-${pages}` }),
      update: ({ title, pages }) => ({ slug: `${title?.toLowerCase()}-${pages}` }),
      delete: () => undefined,
    }),
  },
});

await runProvider(() => toPulumiProvider(provider, { package: "shelf", version: "1.0.0" }));
