import { type Type, Value } from "@stackwright/cty";
import type { ItemDiff, ValueDiff } from "./value-diff.ts";
import { membersOf } from "./value-shape.ts";

/**
 * The value after a difference: `applyValueDiff(diffValues(a, b), a)` equals `b`, with its type and its marks. Undefined where the
 * difference removes the value.
 */
export function applyValueDiff(diff: ValueDiff, before: Value | undefined): Value | undefined {
  switch (diff.kind) {
    case "same":
      return before;
    case "add":
      return diff.value;
    case "remove":
      return undefined;
    case "members": {
      const was = membersOf(before);
      const entries = diff.members.flatMap(({ name, diff: inner }): [string, Value][] => {
        const value = applyValueDiff(inner, was.get(name));
        return value === undefined ? [] : [[name, value]];
      });
      const whole =
        diff.type.kind === "map" ? Value.map(entries, diff.type.element) : Value.object(entries);
      return whole.withMarks(diff.marks);
    }
    case "items":
      return sequence(diff.type, elementsAfter(diff.items, before)).withMarks(diff.marks);
    case "change":
    case "text":
    case "document":
    case "secret":
    default:
      return diff.after;
  }
}

function elementsAfter(items: readonly ItemDiff[], before: Value | undefined): Value[] {
  const was = before === undefined ? [] : before.unmark()[0].elements();
  return items
    .filter(({ afterIndex }) => afterIndex !== undefined)
    .toSorted((left, right) => (left.afterIndex ?? 0) - (right.afterIndex ?? 0))
    .flatMap(({ diff, beforeIndex }) => {
      const value = applyValueDiff(diff, beforeIndex === undefined ? undefined : was[beforeIndex]);
      return value === undefined ? [] : [value];
    });
}

function sequence(type: Type, elements: readonly Value[]): Value {
  if (type.kind === "list") return Value.list(elements, type.element);
  return type.kind === "set" ? Value.set(elements, type.element) : Value.tuple(elements);
}
