/** Characters at the end that are always shown. */
const END_CHARACTERS = 12;

/**
 * The address of an object, which is cut in its middle where it does not fit: its end tells it from its neighbours. Who
 * uses it names the surrounding element, as both parts are elements of their own.
 */
export function AddressText({ address }: { readonly address: string }) {
  const [head, tail] = partsOfAddress(address);
  return (
    <span className="cut">
      <span>{head}</span>
      <span>{tail}</span>
    </span>
  );
}

/** What may be cut, and what is not. */
export function partsOfAddress(address: string): readonly [head: string, tail: string] {
  const at = Math.max(0, address.length - END_CHARACTERS);
  const code = address.charCodeAt(at);
  // No character is taken apart.
  const isInside = at > 0 && code >= 0xdc00 && code <= 0xdfff;
  const cut = isInside ? at - 1 : at;
  return [address.slice(0, cut), address.slice(cut)];
}
