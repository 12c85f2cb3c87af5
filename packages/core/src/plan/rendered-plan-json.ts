import { parseAddress } from "@stackwright/lang";
import {
  arrayNode,
  compactJson,
  type JsonNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { Configuration } from "../configuration/configuration.ts";
import type { ConfigurationSchemas } from "./configuration-json.ts";
import type { Plan } from "./plan.ts";
import { relevantAttributes } from "./relevant-attributes.ts";
import { resourceSchemaNode } from "./schema-json.ts";
import { standInPlan } from "./shown-plan.ts";
import { changesNodes, shownChanges } from "./terraform-json.ts";

/**
 * A plan as the reference command renders one that was made elsewhere: changes, drift, and the schemas of the types that these are of, whose
 * absence ends that command in a crash. Other values stand in for secrets, equal ones for equal secrets, so that the text says which of
 * them change. Undefined where a schema is not known.
 */
export function planToRenderedJson(
  plan: Plan,
  described: { readonly configuration: Configuration; readonly schemas: ConfigurationSchemas },
): string | undefined {
  const providers = schemaNodes(plan, described.schemas);
  if (providers === undefined) return undefined;
  return compactJson(
    objectNode({
      plan_format_version: stringNode("1.2"),
      provider_format_version: stringNode("1.0"),
      ...changesNodes(standInPlan(plan)),
      // Of what is destroyed the reference command shows no drift.
      relevant_attributes: arrayNode(
        plan.mode === "destroy" ? [] : relevantAttributes(plan, described),
      ),
      provider_schemas: providers,
    }),
  );
}

/** The schemas of all types that have a change or have drifted, by provider. */
function schemaNodes(plan: Plan, schemas: ConfigurationSchemas): JsonNode | undefined {
  const found = new Map<string, Record<"managed" | "data", Record<string, JsonNode>>>();
  for (const { address, provider } of [...shownChanges(plan), ...plan.drift]) {
    const { value } = parseAddress(address);
    if (value?.kind !== "resource") return undefined;
    const { mode, type } = value;
    if (mode === "ephemeral") return undefined;
    const types = found.get(provider.source) ?? { managed: {}, data: {} };
    found.set(provider.source, types);
    if (Object.hasOwn(types[mode], type)) continue;
    const schema = schemas.resource(provider.source, { mode, type });
    if (schema === undefined) return undefined;
    types[mode][type] = resourceSchemaNode(schema);
  }
  return objectNode(
    Object.fromEntries(
      Array.from(found, ([source, { managed, data }]) => [
        source,
        objectNode({
          resource_schemas: objectNode(managed),
          data_source_schemas: objectNode(data),
        }),
      ]),
    ),
  );
}
