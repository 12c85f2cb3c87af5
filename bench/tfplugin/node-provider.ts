import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";

/* A provider of one resource type, made with the kit. */
await serveTerraformProvider({
  protocols: {
    6: () =>
      serveLifecycleProvider(
        createProvider({
          config: {},
          configure: () => undefined,
          resources: {
            bench_note: defineResource({
              attributes: { text: required(types.string), id: computed(types.string) },
              create: () => ({ id: "1" }),
              delete: () => undefined,
            }),
          },
        }),
        { protocol: 6 },
      ),
  },
});
