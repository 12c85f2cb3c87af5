import { diff, Path, type Value } from "@stackwright/cty";
import { evaluate } from "@stackwright/lang";
import type { AttributeCause, ResourceChange } from "../plan/change.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import type { Target } from "../walk/recorder.ts";
import type { ManagedInstance } from "./managed-instance.ts";

interface CauseOf {
  readonly action: ResourceChange["action"];
  readonly before: Value | undefined;
  readonly after: Value;
  readonly replacePaths: readonly Path[];
  readonly targets: ReadonlySet<Target>;
}

/**
 * Why the attributes of an existing object change: for each that differs, which changing objects its expression reads.
 * Expressions are evaluated once more for it, for changing objects only. Following the addresses through the plan gives
 * the whole chain.
 */
export function attributeCauses(
  { run, slot, body }: ManagedInstance,
  { action, before, after, replacePaths, targets }: CauseOf,
): readonly AttributeCause[] {
  if (before === undefined || (action !== "update" && action !== "replace")) return [];
  const scope = slot.resource.module.scope.forInstance(slot.context);
  const causes: AttributeCause[] = [];
  for (const name of differingAttributes(before, after)) {
    const attribute = body.attributes.get(name);
    const blocks = body.blocks.get(name);
    // What the provider decides alone has no cause in the configuration.
    if (attribute === undefined && (blocks?.blocks.length ?? 0) === 0) continue;
    const read =
      attribute === undefined
        ? targets
        : run.world.recorder.record(() => evaluate(attribute.expression, scope)).targets;
    const path = Path.root.attribute(name);
    causes.push({
      path,
      replaces: replacePaths.some((replacing) => replacing.startsWith(path)),
      because: changing(run, read),
    });
  }
  return causes;
}

function changing(run: ManagedInstance["run"], targets: ReadonlySet<Target>): readonly string[] {
  const addresses: string[] = [];
  for (const target of targets) {
    if (target.kind === "resource") {
      if (run.changed.has(target)) addresses.push(target.address);
    } else {
      const change = run.bySlot.get(target);
      if (change !== undefined && change.action !== "no-op") addresses.push(target.address);
    }
  }
  return addresses.toSorted();
}

/** The names of the attributes in which two objects differ. */
function differingAttributes(before: Value, after: Value): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { path } of diff(withoutMarks(before), withoutMarks(after))) {
    const [first] = path.steps;
    if (first?.kind === "attribute") names.add(first.name);
  }
  return names;
}
