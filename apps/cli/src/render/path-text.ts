import type { Path } from "@stackwright/cty";
import { keyText } from "./value-diff.ts";

/** A path into an object as it would be written in a reference: `rule[0].port`. */
export function pathText(path: Path): string {
  return [...path.steps]
    .map((step, index) => {
      if (step.kind === "attribute") return `${index === 0 ? "" : "."}${keyText(step.name)}`;
      if (!step.key.isKnown || step.key.isNull) return "[*]";
      if (step.key.type.kind === "number") return `[${step.key.asBigFloat().toString()}]`;
      return step.key.type.kind === "string" ? `["${step.key.asString()}"]` : "[*]";
    })
    .join("");
}
