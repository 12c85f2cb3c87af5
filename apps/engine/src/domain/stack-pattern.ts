/** Patterns of names of stacks: `*` stands for any characters, also none; all others stand for themselves. */
export const STACK_PATTERN = "^[A-Za-z0-9*][A-Za-z0-9*._-]{0,127}$";

/** Whether a pattern stands for a name. The time is bounded by the product of both lengths. */
export function matchesStack(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return name === first;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    // The leftmost place leaves the most room for what follows.
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
