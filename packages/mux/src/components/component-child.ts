import {
  boolProperty,
  decodeStruct,
  encodeStruct,
  listProperty,
  mapProperty,
  type PropertyMap,
  type PropertyValue,
  stringProperty,
} from "@stackwright/proto/property";

/** A resource that a component made, as it is kept with the component. */
export interface ComponentChild {
  readonly urn: string;
  readonly type: string;
  readonly id: string;
  /** As Check returned them. */
  readonly inputs: PropertyMap;
  readonly outputs: PropertyMap;
  /** Forgotten, not deleted, with the component. */
  readonly retained: boolean;
  /** Refuses to be deleted. */
  readonly isProtected: boolean;
  /** It was replaced and is still to be deleted. */
  readonly isReplaced: boolean;
  /** Its create was called, and what came of it is not known: it has no id. */
  readonly isOpen: boolean;
}

/** What is kept of a component: its inputs, and what it made in the order in which that was made. */
interface ComponentRecord {
  /** Only while it is made: afterwards it is an attribute of the object. */
  readonly urn?: string;
  readonly inputs: PropertyMap;
  readonly children: readonly ComponentChild[];
}

const FLAGS = ["retained", "isProtected", "isReplaced", "isOpen"] as const;

export function encodeComponent({ urn, inputs, children }: ComponentRecord): Uint8Array {
  return encodeStruct(
    new Map<string, PropertyValue>([
      ...(urn === undefined ? [] : [["urn", stringProperty(urn)] as const]),
      ["inputs", mapProperty(inputs)],
      ["children", listProperty(children.map(encodeChild))],
    ]),
  );
}

/** Reads what {@link encodeComponent} wrote; of an object without private bytes there are no children. */
export function decodeComponent(bytes: Uint8Array): ComponentRecord {
  const members = decodeStruct(bytes);
  const children = members.get("children");
  const urn = members.get("urn");
  return {
    ...(urn?.kind === "string" && { urn: urn.value }),
    inputs: mapOf(members.get("inputs")),
    children: children?.kind === "list" ? children.values.map(decodeChild) : [],
  };
}

function encodeChild(child: ComponentChild): PropertyValue {
  const { urn, type, id, inputs, outputs } = child;
  return mapProperty({
    urn: stringProperty(urn),
    type: stringProperty(type),
    id: stringProperty(id),
    inputs: mapProperty(inputs),
    outputs: mapProperty(outputs),
    ...Object.fromEntries(
      FLAGS.filter((flag) => child[flag]).map((flag) => [flag, boolProperty(true)]),
    ),
  });
}

function decodeChild(value: PropertyValue): ComponentChild {
  const members = mapOf(value);
  const text = (name: string): string => {
    const member = members.get(name);
    return member?.kind === "string" ? member.value : "";
  };
  return {
    urn: text("urn"),
    type: text("type"),
    id: text("id"),
    inputs: mapOf(members.get("inputs")),
    outputs: mapOf(members.get("outputs")),
    retained: members.has("retained"),
    isProtected: members.has("isProtected"),
    isReplaced: members.has("isReplaced"),
    isOpen: members.has("isOpen"),
  };
}

function mapOf(value: PropertyValue | undefined): PropertyMap {
  return value?.kind === "map" ? value.entries : new Map();
}
