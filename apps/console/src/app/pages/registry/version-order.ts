/** Versions are numbers with dots, which is enough to propose the newest ones. */
const ORDER = new Intl.Collator("en", { numeric: true });

/** Versions, the newest of them first. */
export function newestFirst(versions: readonly string[]): readonly string[] {
  return versions.toSorted((a, b) => ORDER.compare(b, a));
}
