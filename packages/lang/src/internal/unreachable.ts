/** Ends a switch over all members of a union: a member without a case is a compile error here. */
export function unreachable(value: never): never {
  throw new TypeError(`unexpected ${JSON.stringify(value)}`);
}
