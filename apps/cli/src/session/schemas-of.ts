import type { Engine, Plan } from "@stackwright/core";
import type { BlockSchema, ProviderReference } from "@stackwright/mux/router";
import type { SchemaOf } from "../render/plan-text.ts";

/** The schemas of all objects of a plan. */
export async function schemasOf(engine: Engine, plan: Plan): Promise<SchemaOf> {
  return schemasOfProviders(
    engine,
    [...plan.changes, ...plan.drift].map(({ provider }) => provider),
  );
}

/**
 * The schemas of some providers. One that no longer starts has none: its objects are shown without distinguishing
 * blocks from arguments.
 */
export async function schemasOfProviders(
  engine: Engine,
  providers: readonly ProviderReference[],
): Promise<SchemaOf> {
  const blocks = new Map<string, BlockSchema>();
  const references = new Map(
    providers.map((provider) => [`${provider.source}@${provider.version}`, provider]),
  );
  for (const [key, reference] of references) {
    try {
      for (const { provider } of await engine.catalog.open({ ...reference, alias: "" })) {
        await using opened = provider;
        const { schema } = await opened.schema({});
        for (const [type, { block }] of schema.resources) {
          blocks.set(`${key} managed ${type}`, block);
        }
        for (const [type, { block }] of schema.dataSources) {
          blocks.set(`${key} data ${type}`, block);
        }
      }
    } catch {
      // The error is reported where the provider is needed for more than its schema.
    }
  }
  return ({ mode, type, provider }) =>
    blocks.get(`${provider.source}@${provider.version} ${mode} ${type}`);
}
