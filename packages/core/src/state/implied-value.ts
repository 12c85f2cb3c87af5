import { decodeJsonImplied, Mark, Marks, markWithPaths, Path, type Value } from "@stackwright/cty";
import { extractJsonParts, type JsonPath } from "../secrets/json-parts.ts";
import { jsonPathOf } from "./record-value.ts";
import type { RecordedValue } from "./state-object.ts";

const SENSITIVE = Marks.of(Mark.sensitive);

/**
 * A recorded value by the types that JSON has, for display without the schema of its provider; secret and omitted parts are marked. A
 * path of the schema may not lead through these types: the places of the text are marked instead.
 */
export function impliedValue({ json, sensitive, omitted = [] }: RecordedValue): Value {
  const { parts } = extractJsonParts(json, [...sensitive.map(jsonPathOf), ...omitted]);
  return markWithPaths(
    decodeJsonImplied(json),
    parts.map(({ written }) => ({ path: impliedPath(written), marks: SENSITIVE })),
  );
}

function impliedPath(at: JsonPath): Path {
  return at.reduce<Path>(
    (path, step) => (typeof step === "string" ? path.attribute(step) : path.index(step)),
    Path.root,
  );
}
