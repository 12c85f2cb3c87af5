/** What stands before the types in the URNs that providers of the engine see. */
const PREFIX = "urn:pulumi:stackwright::stackwright::";

/** The URN of a resource below another one, or below none. */
export function childUrn(parent: string, type: string, name: string): string {
  const [, , types] = parent.split("::");
  return parent === "" || types === undefined || types === "pulumi:pulumi:Stack"
    ? `${PREFIX}${type}::${name}`
    : `${PREFIX}${types}$${type}::${name}`;
}

/** The name of a resource, from its URN; it may hold `::`. */
export function nameOfUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

/** What a child is called in its component: its types below that of the component, and its name. */
export function childKey(component: string, urn: string): string {
  const [, , own = ""] = component.split("::");
  const [, , types = "", ...name] = urn.split("::");
  return [types.startsWith(`${own}$`) ? types.slice(own.length + 1) : types, ...name].join("::");
}
