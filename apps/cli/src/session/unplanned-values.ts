import type { EvaluationState } from "@stackwright/core";
import { Value } from "@stackwright/cty";
import type { ResourceConfig, SchemaBlock } from "@stackwright/lang";
import { type ProviderReference, typeOfBlock } from "@stackwright/mux/router";
import type { CommandContext } from "../command-context.ts";
import { openEngine } from "./open-engine.ts";
import type { Project } from "./project.ts";
import { schemasOfProviders } from "./schemas-of.ts";

/** What is known of the resources of the root module that have no objects yet. */
interface Unplanned {
  /**
   * Of each that is not repeated: unknown, with the attributes of its type, so that an expression with any other attribute is
   * an error.
   */
  readonly values: readonly (readonly [address: string, value: Value])[];
  /** What a resource looks like, also one that is repeated; undefined where its provider is not here. */
  readonly schemaOf: (resource: ResourceConfig) => SchemaBlock | undefined;
}

const NOTHING: Unplanned = { values: [], schemaOf: () => undefined };

/** Reads what is known without a plan. Expressions can be tried out without an installation as well: nothing is known then. */
export async function readUnplanned(
  world: EvaluationState,
  project: Project,
  context: CommandContext,
): Promise<Unplanned> {
  const { root, resolution } = project.configuration;
  const open = [...world.root.resources.values()].flatMap(({ address, keys, config }) => {
    if (keys !== undefined || config === undefined || config.mode === "ephemeral") return [];
    const source = resolution.forResource(root, config)?.source.toString();
    return source === undefined ? [] : [{ address, config, source }];
  });
  if (open.length === 0) return NOTHING;
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
    const blockOf = await schemasOfProviders(engine, [...providers.values()]);
    const schemas = new Map(
      open.flatMap(({ config, source }) => {
        const { mode, type } = config;
        const provider = providers.get(source);
        const block =
          mode === "ephemeral" || provider === undefined
            ? undefined
            : blockOf({ mode, type, provider });
        return block ? [[config, block] as const] : [];
      }),
    );
    const values = open.flatMap(({ address, config }) => {
      const block = schemas.get(config);
      const isRepeated = (config.count ?? config.forEach ?? config.enabled) !== undefined;
      return block === undefined || isRepeated
        ? []
        : [[address, Value.unknown(typeOfBlock(block))] as const];
    });
    return { values, schemaOf: (resource) => schemas.get(resource) };
  } catch {
    return NOTHING;
  }
}
