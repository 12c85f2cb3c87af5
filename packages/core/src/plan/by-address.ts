import { compareAddresses, parseAddress } from "@stackwright/lang";

/** Orders by address, so that what is shown does not depend on which provider answered first. */
export function byAddress(
  a: { readonly address: string },
  b: { readonly address: string },
): number {
  const [left, right] = [parseAddress(a.address).value, parseAddress(b.address).value];
  if (left !== undefined && right !== undefined) return compareAddresses(left, right);
  return a.address < b.address ? -1 : Number(a.address > b.address);
}
