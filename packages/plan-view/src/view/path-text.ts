import type { Path } from "@stackwright/cty";

/** A path as it is written in a configuration: `ingress[0].cidr_blocks`, `tags["a b"]`. */
export function pathText({ steps }: Path): string {
  const text = steps
    .map((step) => {
      if (step.kind === "attribute") return `.${step.name}`;
      const [key] = step.key.unmark();
      if (!key.isKnown || key.isNull) return "[?]";
      if (key.type.kind === "number") return `[${key.asBigFloat().toString()}]`;
      return key.type.kind === "string" ? `[${JSON.stringify(key.asString())}]` : "[?]";
    })
    .join("");
  return text.startsWith(".") ? text.slice(1) : text;
}
