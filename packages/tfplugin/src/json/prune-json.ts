import { isCollectionType, type Type } from "@stackwright/cty";
import { jsonElements, jsonMembers } from "./json-members.ts";

/**
 * JSON of an object without the attributes that its type does not have, on every level. Everything else stays as it is
 * written. Text that is not of the shape of the type stays too, for the reader of the value to complain about.
 *
 * States keep what an earlier version of a provider wrote: attributes that it has dropped since must not make an object
 * unreadable.
 */
export function pruneJson(json: string, type: Type): string {
  JSON.parse(json);
  return prune(json.trim(), type);
}

function prune(json: string, type: Type): string {
  if (type.kind === "object" && json.startsWith("{")) {
    const members = [...jsonMembers(json)].flatMap(([name, text]) => {
      const attribute = type.attribute(name);
      return attribute === undefined ? [] : [`${JSON.stringify(name)}:${prune(text, attribute)}`];
    });
    return `{${members.join(",")}}`;
  }
  if (type.kind === "map" && json.startsWith("{") && holdsObjects(type.element)) {
    const members = [...jsonMembers(json)].map(
      ([name, text]) => `${JSON.stringify(name)}:${prune(text, type.element)}`,
    );
    return `{${members.join(",")}}`;
  }
  if ((type.kind === "list" || type.kind === "set") && json.startsWith("[")) {
    if (!holdsObjects(type.element)) return json;
    return `[${jsonElements(json)
      .map((text) => prune(text, type.element))
      .join(",")}]`;
  }
  return json;
}

/** Whether there is anything to leave out in values of the type. */
function holdsObjects(type: Type): boolean {
  return type.kind === "object" || (isCollectionType(type) && holdsObjects(type.element));
}
