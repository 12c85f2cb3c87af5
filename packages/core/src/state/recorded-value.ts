import { impliedValue, type StateObject } from "@stackwright/core";
import { CtyError, decodeJson, Mark, Marks, markWithPaths, type Value } from "@stackwright/cty";
import { type BlockSchema, typeOfBlock } from "@stackwright/mux/router";
import type { SchemaOf } from "./plan-text.ts";

/** What is recorded, marked; by the schema, or where that is not known, by the types that JSON has. */
export function recordedValue(object: StateObject, schemaOf: SchemaOf): Value | undefined {
  const { value } = object;
  if (value === undefined) return undefined;
  // The places of omitted parts are those of the text.
  const typed = value.omitted === undefined ? decodeTyped(value.json, schemaOf(object)) : undefined;
  if (typed === undefined) return impliedValue(value);
  return markWithPaths(
    typed,
    value.sensitive.map((path) => ({ path, marks: SENSITIVE })),
  );
}

const SENSITIVE = Marks.of(Mark.sensitive);

function decodeTyped(json: string, schema: BlockSchema | undefined): Value | undefined {
  if (schema === undefined) return undefined;
  try {
    return decodeJson(json, typeOfBlock(schema));
  } catch (error) {
    // Recorded under another version of the schema.
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}
