import { decodeJson, decodeTypeJson, Mark, type Value } from "@stackwright/cty";
import type { StackOutput } from "./stack-state.ts";

/** A published output as a value, marked if it is sensitive. */
export function outputValue({ type, json, sensitive }: StackOutput): Value {
  const value = decodeJson(json, decodeTypeJson(type));
  return sensitive ? value.mark(Mark.sensitive) : value;
}
