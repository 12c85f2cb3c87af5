import { CtyError, rangeOf, refineNotNull, type Type, unify, Value } from "@stackwright/cty";

/**
 * The defaults of the optional attributes of a type constraint, at every depth. Children of
 * collections stand under the empty key, those of tuples under their index.
 */
export interface TypeDefaults {
  readonly type: Type;
  readonly values: ReadonlyMap<string, Value>;
  readonly children: ReadonlyMap<string, TypeDefaults>;
}

/**
 * Puts defaults where optional attributes are missing or null. This happens *before* the value is
 * converted to the constraint, because conversion makes missing attributes null and drops others,
 * and from the outside in, because a default may itself leave attributes to inner defaults. Null
 * and unknown values stay what they are; shapes that do not fit are left to the conversion.
 */
export function applyTypeDefaults(value: Value, defaults: TypeDefaults | undefined): Value {
  if (defaults === undefined || !value.isKnown || value.isNull) return value;
  if (defaults.values.size === 0 && defaults.children.size === 0) return value;
  const [plain, marks] = value.unmark();
  switch (plain.type.kind) {
    case "list":
    case "set":
    case "tuple":
      return applyToElements(plain, defaults).withMarks(marks);
    case "map":
    case "object":
      return applyToEntries(plain, defaults).withMarks(marks);
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
    default:
      return value;
  }
}

function childOf({ type, children }: TypeDefaults, key: string): TypeDefaults | undefined {
  const own = type.kind === "object" || type.kind === "tuple";
  return children.get(own ? key : "");
}

function applyToElements(value: Value, defaults: TypeDefaults): Value {
  const elements = value
    .elements()
    .map((element, position) => applyTypeDefaults(element, childOf(defaults, String(position))));
  const { type } = value;
  if (type.kind === "tuple") return Value.tuple(elements);
  if (elements.length === 0) return value;
  const unified = ofOneType(elements);
  // Elements that have become too different are left to the conversion as a tuple.
  if (unified === undefined) return Value.tuple(elements);
  return type.kind === "set" ? Value.set(unified) : Value.list(unified);
}

function applyToEntries(value: Value, defaults: TypeDefaults): Value {
  const entries = new Map<string, Value>();
  for (const [key, element] of value.entries()) {
    entries.set(key, applyTypeDefaults(element, childOf(defaults, key)));
  }
  for (const [key, fallback] of defaults.values) {
    const given = entries.get(key);
    if (given === undefined || given.isNull) {
      entries.set(key, applyTypeDefaults(fallback, defaults.children.get(key)));
    } else if (!given.isKnown && given.type.kind !== "dynamic" && isNeverNull(fallback)) {
      entries.set(key, refineNotNull(given));
    }
  }
  if (value.type.kind !== "map" || entries.size === 0) {
    return entries.size === 0 ? value : Value.object(entries);
  }
  const unified = ofOneType([...entries.values()]);
  if (unified === undefined) return Value.object(entries);
  return Value.map(
    [...entries.keys()].map((key, at) => [key, unified[at] ?? Value.dynamic] as const),
  );
}

function isNeverNull(fallback: Value): boolean {
  return rangeOf(fallback.unmark()[0]).isNull === false;
}

/** The values as values of one type, or undefined where there is none. */
function ofOneType(values: readonly Value[]): Value[] | undefined {
  const unified = unify(
    values.map((value) => value.type),
    { unsafe: true },
  );
  if (unified === undefined) return undefined;
  try {
    return values.map((value, at) => unified.conversions[at]?.(value) ?? value);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return undefined;
  }
}
