import { Path, type PathStep } from "@stackwright/cty";
import type { AttributePath, AttributePath_Step } from "@stackwright/proto/tfplugin6";

/** The place that a path of the protocol names; `undefined` for none and for the whole. */
export function pathFromWire(path: AttributePath | undefined): Path | undefined {
  if (path === undefined || path.steps.length === 0) return undefined;
  let at = Path.root;
  for (const { selector } of path.steps) {
    switch (selector?.$case) {
      case "attributeName":
        at = at.attribute(selector.value);
        break;
      case "elementKeyString":
        at = at.index(selector.value);
        break;
      case "elementKeyInt":
        at = at.index(Number(selector.value));
        break;
      case undefined:
        // A kind of step that is not known yet: what is known of the path still says where.
        return at;
      default:
        return selector satisfies never;
    }
  }
  return at;
}

/** A path as the protocol says it: up to the first step into a set, for which it has no words. */
export function pathToWire(path: Path): AttributePath {
  const steps: AttributePath_Step[] = [];
  for (const step of path.steps) {
    const written = stepToWire(step);
    if (written === undefined) break;
    steps.push(written);
  }
  return { steps };
}

function stepToWire(step: PathStep): AttributePath_Step | undefined {
  if (step.kind === "attribute") {
    return { selector: { $case: "attributeName", value: step.name } };
  }
  const { key } = step;
  if (!key.isKnown || key.isNull) return undefined;
  if (key.type.kind === "string") {
    return { selector: { $case: "elementKeyString", value: key.asString() } };
  }
  if (key.type.kind === "number") {
    return { selector: { $case: "elementKeyInt", value: BigInt(key.asInteger()) } };
  }
  return undefined;
}
