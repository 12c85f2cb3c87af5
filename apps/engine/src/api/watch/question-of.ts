/** What a fetch asks by, without the values: the view is of all accounts of the server, and its callers are of one. */
export function questionOf(filter: string): string {
  return filter
    .split(" and ")
    .map((part) => part.replace(/[ ,].*$/s, ""))
    .join(" and ");
}
