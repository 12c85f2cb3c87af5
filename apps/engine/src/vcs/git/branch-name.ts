/** Characters of a reference. */
const MAX_REFERENCE = 512;

/** The name of the branch that a reference is; undefined for others, and for names that are given to no program. */
export function branchOf(reference: string): string | undefined {
  if (reference.length > MAX_REFERENCE) return undefined;
  const [, name] = /^refs\/heads\/([A-Za-z0-9][A-Za-z0-9._/+@-]*)$/.exec(reference) ?? [];
  return name?.includes("..") === true ? undefined : name;
}
