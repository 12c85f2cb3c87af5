/** Strings, and what opens, closes and separates, of a text that is JSON. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],]/g;

/**
 * Whether an object in a text that is JSON has a name twice. Readers disagree about which of the two counts, and a parsed value has one of them alone:
 * what changes in the other would not be seen.
 */
export function repeatsName(text: string): boolean {
  // The names of each open object; undefined for an array.
  const open: (Set<string> | undefined)[] = [];
  let atName = false;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : undefined);
      atName = token === "{";
    } else if (token === "}" || token === "]") {
      open.pop();
      atName = false;
    } else if (token === ",") atName = open.at(-1) !== undefined;
    else {
      const names = open.at(-1);
      if (!atName || names === undefined) continue;
      const name = token.includes("\\") ? String(JSON.parse(token)) : token.slice(1, -1);
      if (names.has(name)) return true;
      names.add(name);
      atName = false;
    }
  }
  return false;
}
