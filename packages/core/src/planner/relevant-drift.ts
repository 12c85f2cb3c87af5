import { diff, type Value } from "@stackwright/cty";
import { type ModuleNode, parseAddress } from "@stackwright/lang";
import type { Drift, OutputChange, ResourceChange } from "../plan/change.ts";
import { objectKey } from "../state/state-object.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import { contributorsOf, type Declared, declaredKey, type UsedAttributes } from "./contributors.ts";

/**
 * Says of each drift which of its attributes have to do with a planned change: those that something refers to that changes,
 * and those that the change of the object itself is about. What a provider with the older type system only writes in another
 * way, such as null for an empty map, is not relevant.
 */
export function relevantDrift(
  drift: readonly Drift[],
  {
    root,
    changes,
    outputs,
  }: {
    readonly root: ModuleNode;
    readonly changes: ReadonlyMap<string, ResourceChange>;
    readonly outputs: readonly OutputChange[];
  },
): readonly Drift[] {
  if (drift.length === 0) return drift;
  const used = contributorsOf(root, changing(changes, outputs));
  return drift.map((one) => {
    const own = changes.get(objectKey(one));
    const uses = used.get(keyOf(one.address) ?? "");
    if (one.after === undefined) {
      return { ...one, relevant: uses !== undefined || isEffective(own) };
    }
    const attributes = driftedAttributes(one.before, one.after, own?.legacyTypeSystem === true);
    const planned = plannedAttributes(own);
    const relevant = attributes.filter((name) => planned.has(name) || isUsed(name, uses));
    return { ...one, relevant: relevant.length > 0, attributes: relevant };
  });
}

function changing(
  changes: ReadonlyMap<string, ResourceChange>,
  outputs: readonly OutputChange[],
): readonly Declared[] {
  return [
    ...[...changes.values()]
      .filter(isEffective)
      .flatMap(({ address }) => declaredOf(address) ?? []),
    ...outputs
      .filter(({ action }) => action !== "no-op")
      .map(({ name }) => ({ module: [], address: `output.${name}` })),
  ];
}

function isEffective(change: ResourceChange | undefined): boolean {
  return change !== undefined && change.action !== "no-op";
}

function declaredOf(text: string): Declared | undefined {
  const { value } = parseAddress(text);
  if (value?.kind !== "resource") return undefined;
  const { module, mode, type, name } = value;
  const address = `${mode === "data" ? "data." : ""}${type}.${name}`;
  return { module: module.map((step) => step.name), address };
}

function keyOf(address: string): string | undefined {
  const declared = declaredOf(address);
  return declared && declaredKey(declared);
}

function isUsed(name: string, uses: UsedAttributes | undefined): boolean {
  return uses === "all" || uses?.has(name) === true;
}

/** The attributes that a change of the object itself is about. */
function plannedAttributes(change: ResourceChange | undefined): ReadonlySet<string> {
  if (!isEffective(change) || change?.before === undefined || change.after === undefined) {
    return new Set();
  }
  return differingAttributes(change.before, change.after);
}

function differingAttributes(before: Value, after: Value): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { path } of diff(withoutMarks(before), withoutMarks(after))) {
    const [first] = path.steps;
    if (first?.kind === "attribute") names.add(first.name);
  }
  return names;
}

/**
 * The attributes in which an object is other than recorded. With the older type system of providers (`legacy`) what is only written in
 * another way does not count.
 */
export function driftedAttributes(before: Value, after: Value, legacy: boolean): readonly string[] {
  const names = [...differingAttributes(before, after)];
  if (!legacy) return names;
  const was = new Map(withoutMarks(before).entries());
  const is = new Map(withoutMarks(after).entries());
  return names.filter((name) => !isSameToLegacy(was.get(name), is.get(name)));
}

/** Whether two values are equal to a provider that does not distinguish null from the zero value of a type. */
function isSameToLegacy(before: Value | undefined, after: Value | undefined): boolean {
  if (isZero(before) && isZero(after)) return true;
  if (before === undefined || after === undefined || isZero(before) || isZero(after)) return false;
  if (before.rawEquals(after)) return true;
  const { kind } = before.type;
  if (kind === "object" || kind === "map") {
    const was = new Map(before.entries());
    const is = new Map(after.entries());
    return [...new Set([...was.keys(), ...is.keys()])].every((name) =>
      isSameToLegacy(was.get(name), is.get(name)),
    );
  }
  if (kind !== "list" && kind !== "set" && kind !== "tuple") return false;
  const was = before.elements();
  const is = after.elements();
  if (was.length !== is.length) return false;
  return kind === "set"
    ? was.every((one) => is.some((other) => isSameToLegacy(one, other)))
    : was.every((one, position) => isSameToLegacy(one, is[position]));
}

function isZero(value: Value | undefined): boolean {
  if (value === undefined) return true;
  if (!value.isKnown) return false;
  if (value.isNull) return true;
  switch (value.type.kind) {
    case "string":
      return value.asString() === "";
    case "bool":
      return !value.asBoolean();
    case "number":
      return value.asBigFloat().text() === "0";
    case "list":
    case "set":
    case "map":
    case "tuple":
      return value.elements().length === 0;
    case "object":
    case "capsule":
    case "dynamic":
    default:
      return false;
  }
}
