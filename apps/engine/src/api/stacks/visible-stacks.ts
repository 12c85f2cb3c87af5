import type { NamedStack, StackDirectory } from "@stackwright/core";
import type { Principal } from "@stackwright/registry";

/**
 * The stacks of a project that a caller may see, a page of them. One who is limited to some gets these alone, also as cursors: the last name of
 * a page of all would be that of another one.
 */
export async function visibleStacks(
  directory: Pick<StackDirectory, "page" | "find">,
  { account, stacks: limits = [] }: Pick<Principal, "account" | "stacks">,
  project: string,
  { limit, after }: { readonly limit: number; readonly after: string },
): Promise<{ readonly stacks: readonly NamedStack[]; readonly next?: string }> {
  const place = { account, project };
  if (limits.length === 0) return directory.page(place, { limit, after });
  const prefix = `${project}/`;
  const names = limits
    .filter((one) => one.startsWith(prefix))
    .map((one) => one.slice(prefix.length))
    .filter((name) => name > after);
  const found: NamedStack[] = [];
  for (const name of new Set(names.toSorted())) {
    const stack = await directory.find(place, name);
    if (stack === undefined) continue;
    const last = found.at(-1);
    if (found.length === limit && last !== undefined) return { stacks: found, next: last.name };
    found.push(stack);
  }
  return { stacks: found };
}
