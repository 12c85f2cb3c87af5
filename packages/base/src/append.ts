/** Adds items to a list, however many: as arguments of one `push`, more than a hundred thousand exceed the call stack. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
