import { deepValues } from "@stackwright/cty";
import type { Redactor } from "../secrets/redactor.ts";
import { outputValue } from "../state/output-value.ts";
import type { StackOutput } from "../state/stack-state.ts";

/** The outputs that are not to be shown unasked: those that are sensitive, and those that repeat a secret of the run. */
export function secretOutputs(
  outputs: ReadonlyMap<string, StackOutput>,
  secrets: Redactor,
): ReadonlySet<string> {
  const found = [...outputs].filter(
    ([, output]) => output.sensitive || (!secrets.isEmpty && repeats(output, secrets)),
  );
  return new Set(found.map(([name]) => name));
}

function repeats(output: StackOutput, secrets: Redactor): boolean {
  for (const [, part] of deepValues(outputValue(output))) {
    if (part.isNull) continue;
    const { kind } = part.type;
    const texts =
      kind === "string"
        ? [part.asString()]
        : kind === "map" || kind === "object"
          ? [...part.entries()].map(([name]) => name)
          : [];
    if (texts.some((text) => secrets.redact(text) !== text)) return true;
  }
  return false;
}
