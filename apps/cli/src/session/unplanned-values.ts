import type { EvaluationState } from "@stackwright/core";
import { Value } from "@stackwright/cty";
import { type ProviderReference, typeOfBlock } from "@stackwright/mux/router";
import type { CommandContext } from "../command-context.ts";
import { openEngine } from "./open-engine.ts";
import type { Project } from "./project.ts";
import { schemasOfProviders } from "./schemas-of.ts";

/**
 * What the resources of the root module are that have no object yet: unknown, with the attributes of their types, so that an
 * expression with any other attribute is an error. A repeated resource has none, and neither has one whose provider is not here.
 */
export async function unplannedValues(
  world: EvaluationState,
  project: Project,
  context: CommandContext,
): Promise<readonly (readonly [address: string, value: Value])[]> {
  const { root, resolution } = project.configuration;
  const open = [...world.root.resources.values()].flatMap(({ address, keys, config }) => {
    if (keys !== undefined || config === undefined) return [];
    const { mode, type } = config;
    if (mode === "ephemeral") return [];
    if ((config.count ?? config.forEach ?? config.enabled) !== undefined) return [];
    const source = resolution.forResource(root, config)?.source.toString();
    return source === undefined ? [] : [{ address, mode, type, source }];
  });
  if (open.length === 0) return [];
  try {
    await using engine = await openEngine(project, context, {
      asInstalled: true,
      remembersDigests: true,
    });
    const providers = new Map<string, ProviderReference>();
    for (const source of new Set(open.map((resource) => resource.source))) {
      const requirement = resolution.requirements.get(source);
      if (requirement === undefined) continue;
      // Of a provider that is not here nothing is known, as before.
      // oxlint-disable-next-line no-await-in-loop
      const version = await engine.catalog.select(requirement).catch(() => undefined);
      if (version !== undefined) providers.set(source, { source, version, alias: "" });
    }
    const schemaOf = await schemasOfProviders(engine, [...providers.values()]);
    return open.flatMap(({ address, mode, type, source }) => {
      const provider = providers.get(source);
      const block = provider && schemaOf({ mode, type, provider });
      return block ? [[address, Value.unknown(typeOfBlock(block))] as const] : [];
    });
  } catch {
    // Expressions can be tried out without an installation as well.
    return [];
  }
}
