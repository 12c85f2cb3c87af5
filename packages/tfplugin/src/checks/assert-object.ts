import {
  conformsTo,
  deepValues,
  describeMismatch,
  Path,
  Type,
  unknownAsNull,
  type Value,
} from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { blockType, elementsByKey, isPresent, memberOf } from "./parts.ts";
import { type ContractViolation, Violations } from "./violation.ts";
import { withoutWriteOnly, writeOnlyPaths } from "./write-only.ts";

/** An object that a provider returned from a read, an import, an upgrade, a move or a data source. */
export interface ObjectToCheck {
  readonly block: BlockSchema;
  readonly object: Value;
}

/** Violations, and what to store all the same. */
export interface CheckedObject {
  readonly violations: readonly ContractViolation[];
  /** The object with null in place of what must not be stored: unknowns and write-only values. */
  readonly object: Value;
}

/**
 * Rules for an object that exists: it has the type of its schema, nothing in it is unknown, and write-only attributes
 * are null. They hold for every provider. What differs from an earlier object is no violation but drift.
 *
 * Source: Terraform's rules for ReadResource, ImportResourceState, UpgradeResourceState, MoveResourceState.
 */
export function assertObject({ block, object }: ObjectToCheck): CheckedObject {
  const violations = new Violations(false);
  checkType(block, object, violations);
  if (violations.found.length > 0) return { violations: violations.found, object };
  checkWriteOnly(block, object, violations);
  checkKnown(object, violations);
  return {
    violations: violations.found,
    object: unknownAsNull(withoutWriteOnly(block, object)),
  };
}

/** Whether a value has the type of the schema; nothing else can be said of one that has not. */
export function checkType(block: BlockSchema, value: Value, violations: Violations): boolean {
  const before = violations.found.length;
  checkTypeAt(block, Path.root, value, violations);
  return violations.found.length === before;
}

function checkTypeAt(block: BlockSchema, path: Path, value: Value, violations: Violations): void {
  const type = blockType(block);
  if (!conformsTo(value.type, type)) {
    const mismatch = describeMismatch(value.type, type);
    violations.add("type", path, `the value does not have the type of the schema: ${mismatch}`);
    return;
  }
  if (!isPresent(value)) return;
  // Where attributes are of any type, lists and maps of blocks are tuples and objects, and the type says nothing.
  for (const [name, nested] of block.blocks) {
    const open = type.attribute(name)?.kind === "dynamic";
    const blocks = memberOf(value, name, Type.dynamic);
    if (!open || !isPresent(blocks)) continue;
    const at = path.attribute(name);
    const kinds = nested.nesting === "list" ? ["tuple", "list"] : ["object", "map"];
    if (!kinds.includes(blocks.type.kind)) {
      violations.add("type", at, `blocks of a ${nested.nesting} are not a ${blocks.type.kind}`);
      continue;
    }
    for (const [elementPath, element] of elementsByKey(at, blocks).values()) {
      checkTypeAt(nested.block, elementPath, element, violations);
    }
  }
}

export function checkWriteOnly(block: BlockSchema, value: Value, violations: Violations): void {
  for (const path of writeOnlyPaths(block, value)) {
    violations.add("write-only", path, "a value was returned for a write-only attribute");
  }
}

export function checkKnown(value: Value, violations: Violations): void {
  if (value.isWhollyKnown) return;
  for (const [path, part] of deepValues(value)) {
    if (!part.isKnown) violations.add("known", path, "the value is still unknown");
  }
}
