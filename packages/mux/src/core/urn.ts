const PREFIX = "urn:pulumi:";

/**
 * The own type of a resource, from its URN `urn:pulumi:<stack>::<project>::<types>::<name>`: what stands
 * behind the last `$` of the types. `undefined` when the text is not a URN. The name may hold `::`.
 *
 * Source: Pulumi's provider protocol, resource life cycle.
 */
export function typeOfUrn(urn: string): string | undefined {
  if (!urn.startsWith(PREFIX)) return undefined;
  const project = urn.indexOf("::", PREFIX.length);
  const types = project === -1 ? -1 : urn.indexOf("::", project + 2);
  const name = types === -1 ? -1 : urn.indexOf("::", types + 2);
  if (name === -1) return undefined;
  const qualified = urn.slice(types + 2, name);
  return qualified.slice(qualified.lastIndexOf("$") + 1);
}
