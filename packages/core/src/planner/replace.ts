import { diff } from "@stackwright/cty";
import {
  type Expression,
  parseReference,
  resourceAddress,
  type ScopeTraversal,
} from "@stackwright/lang";
import type { ResourceChange } from "../plan/change.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot, ResourceValues } from "../walk/resource-values.ts";

/** What `replace_triggered_by` needs to know of the plan so far. */
interface TriggerContext {
  readonly slot: InstanceSlot;
  readonly changeOf: (slot: InstanceSlot) => ResourceChange | undefined;
}

/**
 * The first of the triggers of an instance that fires: a resource or instance that is updated or replaced, or an
 * attribute of one whose value changes. Being created or destroyed fires nothing.
 */
export function firedTrigger(
  triggers: readonly Expression[],
  { slot, changeOf }: TriggerContext,
): string | undefined {
  for (const trigger of triggers) {
    for (const target of triggerTargets(trigger, slot)) {
      const change = changeOf(target.slot);
      if (change === undefined || (change.action !== "update" && change.action !== "replace"))
        continue;
      if (target.attribute === undefined) return target.slot.address;
      const { before, after } = change;
      if (before === undefined || after === undefined) continue;
      const name = target.attribute;
      const differs = diff(withoutMarks(before), withoutMarks(after)).some(({ path }) => {
        const [first] = path.steps;
        return first === undefined || (first.kind === "attribute" && first.name === name);
      });
      if (differs) return target.slot.address;
    }
  }
  return undefined;
}

/** What the triggers of an instance name: it comes after them, whether they fire or not. */
export function triggersOf(triggers: readonly Expression[], slot: InstanceSlot): readonly Target[] {
  return triggers.flatMap((trigger): readonly Target[] => {
    const named = resourceOf(trigger, slot);
    if (named === undefined) return [];
    return named.key === undefined ? [named.resource] : slotsOf(named.resource, named.key);
  });
}

interface TriggerTarget {
  readonly slot: InstanceSlot;
  readonly attribute: string | undefined;
}

/** What a trigger refers to: `r.x`, `r.x[0]`, `r.x[each.key]`, each with an attribute or without. */
function triggerTargets(trigger: Expression, slot: InstanceSlot): readonly TriggerTarget[] {
  const named = resourceOf(trigger, slot);
  if (named === undefined) return [];
  const { resource, key, attribute } = named;
  return slotsOf(resource, key).map((target) => ({ slot: target, attribute }));
}

/** The resource that a trigger refers to, with the key of one instance and an attribute where it has them. */
function resourceOf(
  trigger: Expression,
  slot: InstanceSlot,
):
  | {
      readonly resource: ResourceValues;
      readonly key: string | number | undefined;
      readonly attribute: string | undefined;
    }
  | undefined {
  const { base, key, attribute } = split(trigger, slot);
  const reference = base === undefined ? undefined : parseReference(base);
  if (reference?.subject.kind !== "resource") return undefined;
  const { subject, steps } = reference;
  const resource = slot.resource.module.resources.get(resourceAddress(subject));
  if (resource === undefined) return undefined;
  const [first] = steps;
  const name = attribute ?? (first?.kind === "attribute-step" ? first.name : undefined);
  return { resource, key: key ?? subject.key, attribute: name };
}

function slotsOf(resource: ResourceValues, key: string | number | undefined): InstanceSlot[] {
  if (key === undefined) return [...resource.slots.values()];
  const slot = resource.slots.get(key);
  return slot === undefined ? [] : [slot];
}

function split(
  expression: Expression,
  slot: InstanceSlot,
): {
  readonly base: ScopeTraversal | undefined;
  readonly key?: string | number | undefined;
  readonly attribute?: string | undefined;
} {
  if (expression.kind === "scope-traversal") return { base: expression };
  if (expression.kind === "relative-traversal") {
    const [step] = expression.steps;
    return {
      ...split(expression.from, slot),
      attribute: step?.kind === "attribute-step" ? step.name : undefined,
    };
  }
  if (expression.kind === "index") {
    const { key } = slot;
    const repeated = expression.key.kind === "scope-traversal" ? expression.key.root : "";
    return {
      ...split(expression.collection, slot),
      key: repeated === "each" || repeated === "count" ? key : undefined,
    };
  }
  return { base: undefined };
}
