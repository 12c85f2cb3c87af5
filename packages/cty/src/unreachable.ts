/** Ends a switch over a closed union: the compiler proves that nothing gets here. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled case: ${String(value)}`);
}
