import type { ModuleNode, ProviderFunctionResolver } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { ProviderInstance, ProviderInstances } from "./provider-instances.ts";

/**
 * The functions that the declared providers of a configuration have, for those whose functions are called anywhere.
 * Undefined where none is: then no provider is started for it.
 */
export async function providerFunctions(
  {
    root,
    resolution,
    functionProviders,
  }: Pick<Configuration, "root" | "resolution" | "functionProviders">,
  providers: ProviderInstances,
  versions: ReadonlyMap<string, string>,
): Promise<((module: ModuleNode) => ProviderFunctionResolver) | undefined> {
  if (functionProviders.size === 0) return undefined;
  const started = new Map<string, ProviderInstance>();
  for (const name of functionProviders) {
    for (const module of modulesOf(root)) {
      if (!declares(module, name)) continue;
      const source = resolution.sourceOf(module, name).toString();
      const version = versions.get(source);
      if (version === undefined || started.has(source)) continue;
      // Functions need no configuration, so any instance of the provider will do.
      started.set(source, await providers.get({ source, version, alias: "" }));
    }
  }
  const of = (module: ModuleNode, name: string) =>
    functionProviders.has(name) && declares(module, name)
      ? started.get(resolution.sourceOf(module, name).toString())
      : undefined;
  return (module) => ({
    functions: (name) => of(module, name)?.schema.functions,
    providers: () => [...functionProviders].filter((name) => declares(module, name)),
    async call({ provider, name, arguments: values }) {
      const use = of(module, provider);
      if (use === undefined) return { error: { text: `there is no provider ${provider}` } };
      return use.provider.callFunction({ name, arguments: values }, {});
    },
  });
}

/** Only of a provider in required_providers the functions can be called, as in the reference command: its resources imply it, calls do not. */
function declares({ config }: ModuleNode, name: string): boolean {
  return config.requiredProviders.has(name);
}

function* modulesOf(root: ModuleNode): Generator<ModuleNode> {
  yield root;
  for (const child of root.children.values()) yield* modulesOf(child);
}
