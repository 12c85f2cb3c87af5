import type { Expression } from "../syntax/ast.ts";
import { sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import { parseReference } from "./reference.ts";
import { rangeOf, type StaticReader } from "./static-reader.ts";

/**
 * Reports what an expression in `replace_triggered_by` must not have. It names one managed resource or a part of it.
 * Because it is not evaluated, the key of an instance is written there, or is that of the instance to be replaced.
 */
export function checkTrigger(reader: StaticReader, trigger: Expression): void {
  const wrong = unreadablePart(trigger);
  let resources = 0;
  for (const traversal of expressionReferences(trigger)) {
    const range = sourceRange(traversal.source, traversal.start, traversal.end);
    const fail = (detail: string): void =>
      reader.fail("Invalid reference in replace_triggered_by expression", detail, range);
    const subject = parseReference(traversal)?.subject;
    switch (subject?.kind) {
      // Incomplete references are reported with those of all other expressions.
      case undefined:
      case "count":
        break;
      case "each":
        if (subject.name === "value") fail("Only each.key can select an instance here.");
        break;
      case "resource":
        resources++;
        if (subject.mode !== "managed")
          fail(`Objects of ${subject.mode} resources are never updated or replaced.`);
        break;
      case "variable":
      case "local":
      case "module":
      case "self":
      case "path":
      case "terraform":
        fail("Only resources, count.index and each.key can be used here.");
        break;
      default:
        subject satisfies never;
    }
  }
  if (resources === 1) {
    if (wrong === undefined) return;
    const detail =
      "The name of a resource is required here, with the key of an instance or an attribute where needed. The key is written as it is, or is count.index or each.key.";
    reader.fail("Invalid replace_triggered_by expression", detail, rangeOf(wrong));
    return;
  }
  const detail =
    resources === 0
      ? "Each expression in replace_triggered_by must refer to a resource."
      : "Each expression in replace_triggered_by refers to one resource. Write one expression for each of them.";
  reader.fail("Invalid replace_triggered_by expression", detail, rangeOf(trigger));
}

/** The first part of an expression that does not name anything. */
function unreadablePart(trigger: Expression): Expression | undefined {
  if (trigger.kind === "scope-traversal") return undefined;
  if (trigger.kind === "relative-traversal") return unreadablePart(trigger.from);
  if (trigger.kind !== "index") return trigger;
  const { key, collection } = trigger;
  const reference = key.kind === "scope-traversal" ? parseReference(key) : undefined;
  const kind = reference?.subject.kind;
  return kind === "each" || kind === "count" ? unreadablePart(collection) : key;
}
