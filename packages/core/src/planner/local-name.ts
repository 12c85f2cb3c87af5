import type { ResourceConfig } from "@stackwright/lang";

/** The name of a resource in its module: `aws_vpc.a`, `data.aws_vpc.a`. */
export function localName({
  mode,
  type,
  name,
}: Pick<ResourceConfig, "mode" | "type" | "name">): string {
  return `${mode === "managed" ? "" : `${mode}.`}${type}.${name}`;
}
