import type { JsonProblem } from "@stackwright/base/json";

/** A JSON object whose members are not checked yet. */
export type JsonMembers = Readonly<Record<string, unknown>>;

const TEXTS = {
  encoding: "it is not valid UTF-8",
  syntax: "it is not JSON",
  "not-object": "it is not a JSON object",
  "duplicate-name": "an object has a name twice",
};

/** Why a body is refused, for error messages; quotes nothing of the body, which may contain secrets. */
export function jsonProblemText(problem: JsonProblem): string {
  return problem.kind === "depth"
    ? `it is nested deeper than ${problem.maxDepth}`
    : TEXTS[problem.kind];
}
