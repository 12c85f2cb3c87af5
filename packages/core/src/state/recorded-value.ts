import { CtyError, decodeJson, Mark, Marks, markWithPaths, type Value } from "@stackwright/cty";
import { type BlockSchema, typeOfBlock } from "@stackwright/mux/router";
import { impliedValue } from "./implied-value.ts";
import type { RecordedValue } from "./state-object.ts";

const SENSITIVE = Marks.of(Mark.sensitive);

/**
 * A recorded value for display, with its secret parts marked: by the schema of its block, or by {@link impliedValue} where that is not known, the value
 * was recorded under another version of it, or parts of the value were not read.
 */
export function recordedValue(value: RecordedValue, block: BlockSchema | undefined): Value {
  // The places of omitted parts are those of the text.
  const typed = value.omitted === undefined ? decodeTyped(value.json, block) : undefined;
  if (typed === undefined) return impliedValue(value);
  return markWithPaths(
    typed,
    value.sensitive.map((path) => ({ path, marks: SENSITIVE })),
  );
}

function decodeTyped(json: string, block: BlockSchema | undefined): Value | undefined {
  if (block === undefined) return undefined;
  try {
    return decodeJson(json, typeOfBlock(block));
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}
