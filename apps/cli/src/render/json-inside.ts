import { decodeJsonImplied, type Value } from "@stackwright/cty";
import { repeatsName } from "@stackwright/plan-view";

/**
 * The object or array that a string holds as JSON; undefined for any other text. Strings that are
 * policies or documents are shown by what is in them.
 */
export function jsonInside(text: string): Value | undefined {
  if (!/^\s*(?:\{\s*"|\[\s*[[{"])/.test(text)) return undefined;
  try {
    const value = decodeJsonImplied(text);
    return repeatsName(text) ? undefined : value;
  } catch {
    return undefined;
  }
}
