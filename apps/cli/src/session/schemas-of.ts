import type { Engine, Plan } from "@stackwright/core";
import type { ProviderReference, ProviderSchema } from "@stackwright/mux/router";
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
  // Types are read when they are shown: a large provider has thousands.
  const schemas = new Map<string, ProviderSchema[]>();
  const references = new Map(
    providers.map((provider) => [`${provider.source}@${provider.version}`, provider]),
  );
  for (const [key, reference] of references) {
    try {
      for (const { provider } of await engine.catalog.open({ ...reference, alias: "" })) {
        await using opened = provider;
        const { schema } = await opened.schema({});
        const known = schemas.get(key);
        if (known === undefined) schemas.set(key, [schema]);
        else known.push(schema);
      }
    } catch {
      // The error is reported where the provider is needed for more than its schema.
    }
  }
  return ({ mode, type, provider }) =>
    schemas
      .get(`${provider.source}@${provider.version}`)
      ?.map(({ resources, dataSources }) =>
        (mode === "managed" ? resources : dataSources).get(type),
      )
      .findLast((found) => found !== undefined)?.block;
}
