const NAME = "[A-Za-z0-9*][A-Za-z0-9*._-]{0,127}";

/** Patterns of names of stacks: `*` stands for any characters, also none; all others stand for themselves. */
export const STACK_PATTERN = `^${NAME}$`;

/** Stands alone among the patterns of a variable set that is for no stack: an empty list is for all. */
export const NO_STACK = "/";

/** Patterns of the stacks of a variable set of a project. */
export const SET_STACK_PATTERN = `^(?:${NO_STACK}|${NAME})$`;

/** Patterns of the stacks of a variable set of an account: of a name in all projects, or `PROJECT/STACK`. */
export const PLACE_PATTERN = `^(?:${NO_STACK}|${NAME}(?:/${NAME})?)$`;

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

/** Whether a pattern of a name, or of `PROJECT/STACK`, stands for a stack. Names have no slash. */
export function matchesPlace(
  pattern: string,
  { project, name }: { readonly project: string; readonly name: string },
): boolean {
  const [first = "", second] = pattern.split("/");
  if (second === undefined) return matchesStack(pattern, name);
  return matchesStack(first, project) && matchesStack(second, name);
}

/** Whether such a pattern is for stacks of a project. */
export function isForProject(pattern: string, project: string): boolean {
  const [first = "", second] = pattern.split("/");
  return second === undefined || matchesStack(first, project);
}
