/**
 * The elements that are left without an origin of their own when every element takes one of the origins possible for
 * it, and each origin is taken once; as few elements as possible are left.
 *
 * A matching is grown along augmenting paths: an element may take an origin that another one holds, if that one finds
 * another origin in turn. Invariant: every origin in `holders` is possible for the element that holds it, and elements
 * that have an origin keep one.
 */
export function withoutOrigin(origins: readonly (readonly number[])[]): number[] {
  const holders = new Map<number, number>();
  const assign = (element: number, tried: Set<number>): boolean => {
    for (const origin of origins[element] ?? []) {
      if (tried.has(origin)) continue;
      tried.add(origin);
      const holder = holders.get(origin);
      if (holder !== undefined && !assign(holder, tried)) continue;
      holders.set(origin, element);
      return true;
    }
    return false;
  };
  return [...origins.keys()].filter((element) => !assign(element, new Set()));
}
