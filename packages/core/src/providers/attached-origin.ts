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
      const [
        { attachTerraformProvider },
        { createPluginClient, createSchemaCache, TfpluginError },
      ] = await Promise.all([
        import("@stackwright/tfplugin/launch"),
        import("@stackwright/tfplugin"),
      ]);
      const transport = await attachTerraformProvider({
        target,
        name: source,
        ...(signal && { signal }),
      }).catch((cause: unknown) => {
        if (!TfpluginError.is(cause, "TFPLUGIN_CONNECT_FAILED")) throw cause;
        const text = `${cause.message}. TF_REATTACH_PROVIDERS says that it listens there: start it again and set the variable to what it prints, or unset it`;
        throw new TfpluginError(cause.code, text, { cause, provider: source });
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
