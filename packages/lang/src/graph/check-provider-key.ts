import type { ModuleConfig, ProviderConfigReference } from "../config/module-config.ts";
import { rangeOf } from "../config/static-reader.ts";
import type { Expression } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";

/** A reference has a key exactly where it is one to a configuration with `for_each`, which is a block of the same module. */
export function checkProviderKey(
  { providers }: Pick<ModuleConfig, "providers">,
  { name, alias, key, range }: ProviderConfigReference,
  what: "resource" | "module",
): readonly Diagnostic[] {
  const text = alias === undefined ? name : `${name}.${alias}`;
  const config = providers.get(text);
  const isRepeated = config?.forEach !== undefined;
  if (isRepeated === (key !== undefined)) return [];
  let detail = `The provider configuration ${text} has for_each, so that one of its instances must be chosen: ${text}[each.key]. All of them cannot be passed on together.`;
  if (key !== undefined) {
    detail =
      config === undefined
        ? `A key chooses an instance of a provider block with for_each, and this module has no block provider "${name}" with alias = "${alias}".`
        : `The provider configuration ${text} has no for_each, so that it has no instances with keys.`;
  }
  return [
    {
      severity: "error",
      code: "LANG_CONFIG",
      summary: `Invalid ${what} provider configuration`,
      detail,
      subject: key === undefined ? range : rangeOf(key),
    },
  ];
}

/**
 * A resource or call that is repeated for the same collection as its provider: when an element goes, what it stood for can no longer
 * be destroyed, as the instance of the provider goes with it.
 */
export function checkSameKeys(
  { providers }: Pick<ModuleConfig, "providers">,
  { name, alias, key }: ProviderConfigReference,
  what: "resource" | "module",
  forEach: Expression | undefined,
): readonly Diagnostic[] {
  const own = alias === undefined ? undefined : providers.get(`${name}.${alias}`)?.forEach;
  if (key === undefined || own === undefined || forEach === undefined) return [];
  if (expressionReferences(own).length === 0 || textOf(own) !== textOf(forEach)) return [];
  const detail = `The ${what} is repeated for the same collection as the provider configuration ${name}.${alias}. When an element is removed from it, the provider instance that could destroy the objects is gone as well. Let the provider have a larger collection: an element stays in it until its objects are destroyed.`;
  return [
    {
      severity: "warning",
      code: "LANG_CONFIG",
      summary: `Provider configuration for_each matches ${what}`,
      detail,
      subject: rangeOf(forEach),
    },
  ];
}

function textOf({ source, start, end }: Expression): string {
  return source.text.slice(start, end).replace(/\s+/g, "");
}
