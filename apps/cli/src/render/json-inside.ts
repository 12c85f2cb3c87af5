import { decodeJsonImplied, type Value } from "@stackwright/cty";

/**
 * The object or array that a string holds as JSON; undefined for any other text. Strings that are
 * policies or documents are shown by what is in them.
 */
export function jsonInside(text: string): Value | undefined {
  if (!/^\s*(?:\{\s*"|\[\s*[[{"])/.test(text)) return undefined;
  try {
    return decodeJsonImplied(text);
  } catch {
    return undefined;
  }
}
