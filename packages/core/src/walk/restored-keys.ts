import { Value } from "@stackwright/cty";
import { type Expression, evaluate } from "@stackwright/lang";
import { type Keys, type RecordedKeys, restoreKeys } from "./keys.ts";
import type { ModuleInstance } from "./module-instance.ts";

/** Frozen keys whose values are evaluated when they are first asked for. */
export function restoredKeys(
  module: ModuleInstance,
  keys: RecordedKeys,
  forEach: Expression | undefined,
): Keys {
  let entries: ReadonlyMap<string, Value> | undefined;
  return restoreKeys(keys, (key) => {
    entries ??= forEach === undefined ? new Map() : forEachEntries(module, forEach);
    return entries.get(key) ?? Value.dynamic;
  });
}

function forEachEntries(module: ModuleInstance, forEach: Expression): ReadonlyMap<string, Value> {
  const { value } = evaluate(forEach, module.scope.forInstance({}));
  const [plain] = value.unmark();
  if (plain.isNull || !plain.isKnown) return new Map();
  if (plain.type.kind === "set") {
    return new Map(plain.elements().map((element) => [element.asString(), element]));
  }
  return new Map(plain.entries());
}
