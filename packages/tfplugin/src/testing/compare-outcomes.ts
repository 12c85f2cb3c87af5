import type { JsonValue } from "@stackwright/base/json";
import type { Scenario, StepOutcome } from "./scenario.ts";

const VOLATILE = "(volatile)";

/**
 * Outcomes without what the provider draws by lot: volatile attributes, and every text elsewhere that is the value of
 * one. Two runs of a scenario are to be equal in what is left.
 *
 * @param texts further texts that are other ones in every run, such as addresses of servers
 */
export function comparable(
  outcomes: readonly StepOutcome[],
  { volatile = [] }: Pick<Scenario, "volatile">,
  texts: readonly string[] = [],
): JsonValue {
  const names = new Set(volatile);
  const drawn = new Set<JsonValue>(texts);
  const json = JSON.parse(JSON.stringify(outcomes)) as JsonValue;
  collect(json, names, drawn);
  return replace(json, names, drawn);
}

function collect(json: JsonValue, names: ReadonlySet<string>, drawn: Set<JsonValue>): void {
  if (typeof json !== "object" || json === null) return;
  for (const [name, value] of Object.entries(json as Readonly<Record<string, JsonValue>>)) {
    if (names.has(name) && typeof value === "string" && value.length > 3) drawn.add(value);
    collect(value, names, drawn);
  }
}

function replace(
  json: JsonValue,
  names: ReadonlySet<string>,
  drawn: ReadonlySet<JsonValue>,
): JsonValue {
  if (drawn.has(json)) return VOLATILE;
  if (Array.isArray(json)) {
    return (json as readonly JsonValue[]).map((element) => replace(element, names, drawn));
  }
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json as Readonly<Record<string, JsonValue>>).map(([name, value]) => {
      // What says which attributes are unknown has the same names, and true for their values.
      const isDrawn = names.has(name) && value !== null && typeof value !== "boolean";
      return [name, isDrawn ? VOLATILE : replace(value, names, drawn)];
    }),
  );
}
