import { decodeJson, encodeJson, Type, type Value } from "@stackwright/cty";
import type { ResourceSchema } from "@stackwright/mux/router";
import type { RecordedIdentity } from "../state/state-object.ts";

function identityType({ identity }: ResourceSchema): Type | undefined {
  if (identity === undefined) return undefined;
  return Type.object([...identity.attributes].map(([name, { type }]) => [name, type] as const));
}

/**
 * A recorded identity as a value. Undefined where there is none, or where it is of another version of its schema: then
 * the provider gives the object a new one when it is read.
 */
export function restoreIdentity(
  recorded: RecordedIdentity | undefined,
  schema: ResourceSchema,
): Value | undefined {
  const type = identityType(schema);
  if (recorded === undefined || type === undefined) return undefined;
  if (recorded.schemaVersion !== schema.identity?.version) return undefined;
  return decodeJson(recorded.json, type);
}

export function recordIdentity(
  identity: Value | undefined,
  schema: ResourceSchema,
): RecordedIdentity | undefined {
  const type = identityType(schema);
  if (identity === undefined || type === undefined || identity.isNull) return undefined;
  if (!identity.isWhollyKnown) return undefined;
  return { schemaVersion: schema.identity?.version ?? 0, json: encodeJson(identity, type) };
}
