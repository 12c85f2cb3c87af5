import { decodeStruct } from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";

/** The deprecated form of the configuration, for providers that read nothing else. */
export function cocorpcConfigVariables(name: string, args: EncodedStruct): Map<string, string> {
  const variables = new Map<string, string>();
  for (const [key, property] of decodeStruct(args)) {
    if (key === "version") continue;
    const inner = property.kind === "secret" ? property.value : property;
    if (inner.kind === "string") variables.set(`${name}:config:${key}`, inner.value);
    else if (inner.kind === "number" || inner.kind === "bool") {
      variables.set(`${name}:config:${key}`, String(inner.value));
    }
  }
  return variables;
}
