import { Mark, Path, type PathStep, type Value } from "@stackwright/cty";

/**
 * The path up to the first sensitive part that it leads to in any version of an object: the names of keys inside of one are as
 * secret as the rest of it.
 */
export function pathOutsideSecrets(path: Path, ...versions: readonly (Value | undefined)[]): Path {
  const { steps } = path;
  let parts = versions.filter((value) => value !== undefined);
  for (const [length, step] of steps.entries()) {
    if (parts.some((part) => part.hasMark(Mark.sensitive)))
      return Path.from(steps.slice(0, length));
    parts = parts.flatMap((part) => partAt(part, step) ?? []);
  }
  return path;
}

/** The part that a step leads to; undefined where there is none. An element of a set has no place. */
function partAt(value: Value, step: PathStep): Value | undefined {
  const [plain] = value.unmark();
  if (!plain.isKnown || plain.isNull) return undefined;
  switch (plain.type.kind) {
    case "object":
    case "map":
      return new Map(plain.entries()).get(nameOf(step) ?? "");
    case "list":
    case "tuple":
      return step.kind === "index" ? plain.elements()[indexOf(step.key) ?? -1] : undefined;
    case "set":
    case "string":
    case "number":
    case "bool":
    case "dynamic":
    case "capsule":
    default:
      return undefined;
  }
}

function nameOf(step: PathStep): string | undefined {
  if (step.kind === "attribute") return step.name;
  const [key] = step.key.unmark();
  return key.isKnown && !key.isNull && key.type.kind === "string" ? key.asString() : undefined;
}

function indexOf(given: Value): number | undefined {
  const [key] = given.unmark();
  if (!key.isKnown || key.isNull || key.type.kind !== "number") return undefined;
  return Number(key.asBigFloat().toString());
}
