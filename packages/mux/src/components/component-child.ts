import {
  boolProperty,
  decodeStruct,
  encodeStruct,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
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

/** A child in a record of what changed, with its place in the order. */
export interface NotedChild {
  readonly position: number;
  readonly child: ComponentChild;
}

/** What is before the keys of children in notes. */
const NOTED = "child ";

/**
 * What changed of what a component has while it is made, by key. Such notes one after the other are one message, as the encoding lets the last
 * member of a name count: {@link decodeComponent} reads what they say together.
 *
 * @param record what the first of them has beside the children
 */
export function encodeNote(
  changes: ReadonlyMap<string, NotedChild | undefined>,
  record?: Required<Pick<ComponentRecord, "urn" | "inputs">>,
): Uint8Array {
  return encodeStruct(
    new Map<string, PropertyValue>([
      ...(record === undefined ? [] : beginningOf(record)),
      ...[...changes].map(([key, noted]): [string, PropertyValue] => [
        `${NOTED}${key}`,
        noted === undefined
          ? nullProperty()
          : mapProperty({
              position: numberProperty(noted.position),
              child: encodeChild(noted.child),
            }),
      ]),
    ]),
  );
}

function beginningOf({
  urn,
  inputs,
}: Required<Pick<ComponentRecord, "urn" | "inputs">>): [string, PropertyValue][] {
  return [
    ["urn", stringProperty(urn)],
    ["inputs", mapProperty(inputs)],
  ];
}

/** Reads what {@link encodeComponent} wrote, or notes; of an object without private bytes there are no children. */
export function decodeComponent(bytes: Uint8Array): ComponentRecord {
  const members = decodeStruct(bytes);
  const children = members.get("children");
  const urn = members.get("urn");
  return {
    ...(urn?.kind === "string" && { urn: urn.value }),
    inputs: mapOf(members.get("inputs")),
    children:
      children?.kind === "list" ? children.values.map(decodeChild) : decodeNotes(members.entries()),
  };
}

function decodeNotes(members: Iterable<readonly [string, PropertyValue]>): ComponentChild[] {
  const noted: NotedChild[] = [];
  for (const [name, value] of members) {
    if (!name.startsWith(NOTED) || value.kind !== "map") continue;
    const position = value.entries.get("position");
    const child = value.entries.get("child");
    if (position?.kind !== "number" || child === undefined) continue;
    noted.push({ position: position.value, child: decodeChild(child) });
  }
  return noted.sort((one, other) => one.position - other.position).map(({ child }) => child);
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
