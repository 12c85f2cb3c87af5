import { applyDiff, diff, Path, type Type, Value } from "@stackwright/cty";
import type { ScopeTraversal } from "@stackwright/lang";
import { extractMarks } from "../walk/object-marks.ts";

/**
 * A configuration with what is to be ignored as it was before: what is configured there counts when the object is
 * created and never again. Values carry no marks.
 */
export function applyIgnoreChanges(
  config: Value,
  prior: Value,
  ignored: "all" | readonly ScopeTraversal[],
): Value {
  if (prior.isNull) return config;
  if (ignored === "all") return prior;
  if (ignored.length === 0) return config;
  const paths = ignored.map((traversal) => traversalPath(traversal, prior));
  const changed = diff(prior, config).filter(
    ({ path }) => !paths.some((ignoredPath) => path.startsWith(ignoredPath)),
  );
  return restoreWholes(applyDiff(prior, changed), config, prior, paths);
}

/** Where a configuration is secret once it is as {@link applyIgnoreChanges} makes it: what is ignored is as secret as it was before. */
export function ignoredMarks(
  sensitive: readonly Path[],
  before: Value | undefined,
  ignored: "all" | readonly ScopeTraversal[],
): readonly Path[] {
  if (before === undefined || before.isNull) return sensitive;
  if (ignored !== "all" && ignored.length === 0) return sensitive;
  const { plain, sensitive: former } = extractMarks(before);
  if (ignored === "all") return former;
  const paths = ignored.map((traversal) => traversalPath(traversal, plain));
  const isIgnored = (path: Path): boolean => paths.some((one) => path.startsWith(one));
  // Of what was secret as a whole, the ignored part stays so.
  const parts = paths.filter((one) =>
    former.some((path) => path.length < one.length && one.startsWith(path)),
  );
  return [...sensitive.filter((path) => !isIgnored(path)), ...former.filter(isIgnored), ...parts];
}

/**
 * A difference above an ignored path replaces the ignored part along with its surroundings, as where a map was null
 * before. That is a change of the surroundings, which are not ignored. Only attributes of the object itself are exact.
 */
function restoreWholes(result: Value, config: Value, prior: Value, paths: readonly Path[]): Value {
  const whole = new Set(
    paths.flatMap((path) => {
      const [first] = path.steps;
      return path.length === 1 && first?.kind === "attribute" ? [first.name] : [];
    }),
  );
  if (whole.size === 0 || result.type.kind !== "object" || config.type.kind !== "object") {
    return result;
  }
  const before = new Map(prior.entries());
  return Value.object(
    [...result.entries()].map(([name, value]) => [
      name,
      whole.has(name) ? (before.get(name) ?? value) : value,
    ]),
  );
}

/**
 * `tags["a"].b[0]` as a path into the object. What a step is called depends on what it leads into: attributes of objects
 * and elements of maps may be written either way.
 */
function traversalPath({ root, steps }: ScopeTraversal, object: Value): Path {
  let path = Path.root.attribute(root);
  let type = memberType(object.type, root);
  for (const step of steps) {
    const key = stepKey(step);
    if (key === undefined) break;
    path =
      typeof key === "string" && type?.kind === "object" ? path.attribute(key) : path.index(key);
    type = type === undefined ? undefined : memberType(type, key);
  }
  return path;
}

function stepKey(step: ScopeTraversal["steps"][number]): string | number | undefined {
  if (step.kind === "attribute-step") return step.name;
  if (step.key.kind === "number") return Number(step.key.text);
  return step.key.kind === "string" ? step.key.value : undefined;
}

function memberType(type: Type, key: string | number): Type | undefined {
  if (type.kind === "object")
    return type.has(String(key)) ? type.attribute(String(key)) : undefined;
  if (type.kind === "tuple") return type.elements[Number(key)];
  return type.kind === "list" || type.kind === "set" || type.kind === "map"
    ? type.element
    : undefined;
}
