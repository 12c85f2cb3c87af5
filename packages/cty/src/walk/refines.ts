import { unmarkDeep } from "../operation/operands.ts";
import { Path } from "../path/path.ts";
import { conformsTo } from "../type/conformance.ts";
import { couldBecome, rangeOf, type ValueRange } from "../value/refine.ts";
import type { Value } from "../value/value.ts";
import { type Part, partsOf } from "./parts.ts";

/**
 * Where a value is not what an earlier, less known form of it allowed; undefined where it is. Known parts must have
 * stayed, unknown parts may have become anything of their type and within their refinements, or have stayed unknown with
 * at least the same refinements. Unknown elements of a set may have become equal to other elements. Marks play no part.
 */
export function findContradiction(placeholder: Value, value: Value): Path | undefined {
  return contradiction(Path.root, unmarkDeep(placeholder)[0], unmarkDeep(value)[0]);
}

/** Whether the value is what the less known form of it allowed; see {@link findContradiction}. */
export function refines(value: Value, placeholder: Value): boolean {
  return findContradiction(placeholder, value) === undefined;
}

function contradiction(path: Path, placeholder: Value, value: Value): Path | undefined {
  if (!conformsTo(value.type, placeholder.type)) return path;
  if (!placeholder.isKnown) return withinRange(placeholder, value) ? undefined : path;
  if (!value.isKnown || placeholder.isNull !== value.isNull) return path;
  if (placeholder.isNull) return undefined;
  if (placeholder.type.kind === "set") return setContradiction(path, placeholder, value);
  const before = partsOf(path, placeholder);
  if (before.length === 0) {
    return placeholder.equals(value) === true || emptyAlike(placeholder, value) ? undefined : path;
  }
  const after = partsOf(path, value);
  if (before.length !== after.length) return path;
  for (const [i, [partPath, part]] of before.entries()) {
    const other = after[i];
    if (other === undefined || !other[0].equals(partPath)) return partPath;
    const found = contradiction(partPath, part, other[1]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Empty collections whose element types are open at first are equal only once both are known. */
function emptyAlike(a: Value, b: Value): boolean {
  const compound = a.type.kind !== "string" && a.type.kind !== "number" && a.type.kind !== "bool";
  return compound && a.type.kind !== "capsule" && a.size === 0 && b.size === 0;
}

function withinRange(placeholder: Value, value: Value): boolean {
  if (placeholder.type.kind === "dynamic") return true;
  if (value.isKnown) return couldBecome(placeholder, value) !== false;
  return isNarrower(rangeOf(value), rangeOf(placeholder));
}

function isNarrower(range: ValueRange, than: ValueRange): boolean {
  return (
    (than.isNull === undefined || than.isNull === range.isNull) &&
    range.prefix.startsWith(than.prefix) &&
    range.minLength >= than.minLength &&
    range.maxLength <= than.maxLength &&
    isTighter(range.min, than.min, 1) &&
    isTighter(range.max, than.max, -1)
  );
}

function isTighter(bound: ValueRange["min"], than: ValueRange["min"], side: 1 | -1): boolean {
  if (than === undefined) return true;
  if (bound === undefined) return false;
  const order = bound.value.compare(than.value) * side;
  return order > 0 || (order === 0 && (than.inclusive || !bound.inclusive));
}

/**
 * Every element of the placeholder must have become some element of the value, and every element of the value must have
 * come from one: a matching that covers the value, found along augmenting paths.
 */
function setContradiction(path: Path, placeholder: Value, value: Value): Path | undefined {
  const before = partsOf(path, placeholder);
  const after = partsOf(path, value);
  const origins = after.map(([, element]) =>
    before.flatMap(([, from], i) => (contradiction(path, from, element) === undefined ? [i] : [])),
  );
  const possible = new Set(origins.flat());
  const lost = before.find((_part, i) => !possible.has(i));
  if (lost !== undefined) return lost[0];
  return uncovered(origins, after);
}

function uncovered(
  origins: readonly (readonly number[])[],
  after: readonly Part[],
): Path | undefined {
  const takenBy = new Map<number, number>();
  const assign = (element: number, tried: Set<number>): boolean => {
    for (const origin of origins[element] ?? []) {
      if (tried.has(origin)) continue;
      tried.add(origin);
      const holder = takenBy.get(origin);
      if (holder === undefined || assign(holder, tried)) {
        takenBy.set(origin, element);
        return true;
      }
    }
    return false;
  };
  const index = after.findIndex((_part, element) => !assign(element, new Set()));
  return after[index]?.[0];
}
