import type { openServerFunctions } from "@stackwright/core";
import type { Registry } from "@stackwright/registry";
import type { FindSchemaChanges } from "./domain/find-schema-changes.ts";
import { ServerError } from "./domain/server-error.ts";

interface SchemaChangeParts {
  readonly registry: Pick<Registry, "showVersion">;
  readonly region: string;
  readonly functions: Pick<Awaited<ReturnType<typeof openServerFunctions>>, "schemaChanges">;
}

/** Compares the schemas of two versions by asking their functions: what they answer now is what a stack would get. */
export function createSchemaChanges({
  registry,
  region,
  functions,
}: SchemaChangeParts): FindSchemaChanges {
  return async ({ account, name, from, to }, options) => {
    const scope = { account, region };
    const [before, after] = await Promise.all([
      registry.showVersion(scope, { name, version: from }, options),
      registry.showVersion(scope, { name, version: to }, options),
    ]);
    const asked = { account, before: before.functionUrn, after: after.functionUrn };
    try {
      return { source: before.source, changes: await functions.schemaChanges(asked, options) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ServerError("upstream_failed", `a function does not answer: ${why}`, {
        cause: error,
      });
    }
  };
}
