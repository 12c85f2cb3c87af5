import type { StackReference } from "@stackwright/core";

/** The first ones of each account in turn, so many as there may be: what waits in one account keeps no other one out. */
export function inTurn<T extends { readonly stack: Pick<StackReference, "account"> }>(
  inOrder: readonly T[],
  most: number,
): ReadonlySet<T> {
  const places = new Map<string, number>();
  const placed = inOrder.map((one) => {
    const { account } = one.stack;
    const place = places.get(account) ?? 0;
    places.set(account, place + 1);
    return { one, place };
  });
  const first = placed.toSorted((a, b) => a.place - b.place).slice(0, most);
  return new Set(first.map(({ one }) => one));
}
