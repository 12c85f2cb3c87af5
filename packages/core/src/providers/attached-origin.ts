import type { ReattachTarget } from "@stackwright/tfplugin/launch";
import type { ProviderOrigin } from "./catalog.ts";

/** Providers by full source that other programs have started, under a debugger perhaps. They are never stopped here. */
export function attachedOrigin(targets: ReadonlyMap<string, ReattachTarget>): ProviderOrigin {
  return {
    name: "attached",
    handles: (source) => targets.has(source.toString()),
    // The running program is the version.
    select: async () => "",
    async open({ source }, { signal } = {}) {
      const target = targets.get(source);
      if (target === undefined) throw new TypeError(`${source} is not attached`);
      const [{ attachTerraformProvider }, { createPluginClient, createSchemaCache }] =
        await Promise.all([
          import("@stackwright/tfplugin/launch"),
          import("@stackwright/tfplugin"),
        ]);
      const transport = await attachTerraformProvider({
        target,
        name: source,
        ...(signal && { signal }),
      });
      // Each connection reads the schema again: the program may be another one by now.
      const client = createPluginClient(transport, {
        schemaCache: createSchemaCache(),
        schemaKey: source,
      });
      return [{ name: source, provider: client }];
    },
  };
}
