import {
  applyPath,
  Mark,
  type Path,
  type Type,
  transform,
  unmarkDeep,
  Value,
} from "@stackwright/cty";

/**
 * Versions of one value with something else of the same type, still marked, in the place of every known part that is sensitive: the same
 * in both where the parts are equal, so that a reader sees which secrets differ, and nothing of them. Null stays null.
 */
export function standInSecrets(
  before: Value | undefined,
  after: Value | undefined,
): readonly [Value | undefined, Value | undefined] {
  return [
    before && replaced(before, () => false),
    after && replaced(after, (path, part) => before !== undefined && !isSame(before, path, part)),
  ];
}

type Differs = (path: Path, part: Value) => boolean;

function replaced(value: Value, differs: Differs): Value {
  if (!value.containsMarks) return value;
  return transform(value, {
    enter: (path, part) => {
      if (!part.hasMark(Mark.sensitive)) return part;
      const [plain, marks] = part.unmark();
      if (!plain.isKnown || plain.isNull) return part;
      return standIn(plain.type, differs(path, plain)).mark(...marks);
    },
  });
}

function isSame(before: Value, path: Path, part: Value): boolean {
  try {
    const [former] = unmarkDeep(applyPath(before, path));
    return former.rawEquals(unmarkDeep(part)[0]);
  } catch {
    return false;
  }
}

/** A value of a type, of which there are two. */
function standIn(type: Type, other: boolean): Value {
  switch (type.kind) {
    case "string":
      return Value.string(other ? "(another sensitive value)" : "(sensitive value)");
    case "number":
      return Value.number(other ? 1 : 0);
    case "bool":
      return Value.bool(other);
    case "list":
      return Value.list([standIn(type.element, other)], type.element);
    case "set":
      return Value.set([standIn(type.element, other)], type.element);
    case "map":
      return Value.map({ sensitive: standIn(type.element, other) }, type.element);
    case "tuple":
      return Value.tuple(type.elements.map((one) => standIn(one, other)));
    case "object":
      return Value.objectOf(
        type,
        type.types.map((one) => standIn(one, other)),
      );
    case "dynamic":
    case "capsule":
    default:
      return Value.null(type);
  }
}
