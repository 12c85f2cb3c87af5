import { append } from "@stackwright/base/append";
import type { ProviderAddress } from "@stackwright/provider-source";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ModuleConfig } from "../config/module-config.ts";
import { isEmptyProvider } from "../config/provider-block.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { checkProviderKey, checkSameKeys } from "./check-provider-key.ts";
import { moduleResources, providerReference } from "./module-resources.ts";
import type { ModuleLocation, ProviderResolution } from "./provider-resolution.ts";

/**
 * Checks what a call passes to a module against what the module declares and has itself.
 *
 * @param missing takes what is wrong with references to configurations that there are not
 */
export function checkPassedProviders(
  { module, parent, call }: ModuleLocation,
  providers: Pick<ProviderResolution, "sourceOf" | "forReference"> & {
    /** What a name stands for where nothing declares it. */
    impliedSource(name: string): ProviderAddress;
  },
  diagnostics: Diagnostic[],
  missing: Diagnostic[],
): void {
  if (parent === undefined || call === undefined) return;
  const report = (
    severity: Diagnostic["severity"],
    summary: string,
    detail: string,
    subject: SourceRange,
  ): void => {
    diagnostics.push({ severity, code: "LANG_CONFIG", summary, detail, subject });
  };
  const passed = call.providers ?? new Map<string, never>();
  const needed = declaredAliases(module.config);
  const names = localNames(module.config);
  for (const [inside, reference] of passed) {
    const [name = "", alias] = inside.split(".");
    const { range } = reference;
    append(diagnostics, checkProviderKey(parent.module.config, reference, "module"));
    append(diagnostics, checkSameKeys(parent.module.config, reference, "module", call.forEach));
    const own = module.config.providers.get(inside);
    const undeclared = alias !== undefined && !needed.has(inside);
    // An alias that is not declared is taken for one of the provider that its name would imply.
    const inner =
      undeclared && own === undefined
        ? providers.impliedSource(name)
        : providers.sourceOf(module, name);
    if (undeclared && own === undefined) {
      const declared = providers.sourceOf(module, name);
      const detail = `The module does not declare a configuration "${inside}" in configuration_aliases.${didYouMean(inside, needed)}`;
      report(
        declared.equals(inner) ? "warning" : "error",
        "Reference to undefined provider",
        detail,
        range,
      );
    } else if (
      alias === undefined &&
      own === undefined &&
      !module.config.requiredProviders.has(name)
    ) {
      const detail = names.has(name)
        ? `The module uses a provider "${name}" without declaring it, so that it is taken for ${inner.toDisplay()}. Add it to required_providers of the module.`
        : `The module has no provider "${name}", so that passing it has no effect.${didYouMean(name, names)}`;
      report("warning", "Reference to undefined provider", detail, range);
    }
    const outer = providers.sourceOf(parent.module, reference.name);
    if (!outer.equals(inner)) {
      const detail = `Here "${reference.name}" is ${outer.toDisplay()}, but in the module "${name}" is ${inner.toDisplay()}.`;
      report("error", "Provider type mismatch", detail, range);
    } else if (providers.forReference(parent.module, reference) === undefined) {
      append(missing, missingConfiguration(parent.module, reference));
    }
    if (own !== undefined && !isEmptyProvider(own)) {
      const detail = `The module has a configuration for "${inside}" of its own, which cannot be replaced by a passed one.`;
      report("error", "Cannot override provider configuration", detail, range);
    }
  }
  for (const [inside, own] of module.config.providers) {
    if (!isEmptyProvider(own)) continue;
    const detail = passed.has(inside)
      ? `The block has no effect: a configuration for "${inside}" is passed to the module. Declare the provider in required_providers instead.`
      : `This is a configuration of its own, in which nothing is set. To use the one of the calling module, remove the block and declare the provider in required_providers.`;
    report("warning", "Redundant empty provider block", detail, own.range);
  }
  for (const inside of needed) {
    if (passed.has(inside) || module.config.providers.has(inside)) continue;
    const detail = `The module needs a configuration "${inside}". Pass one: providers = { ${inside} = ... }.`;
    report("error", "Missing required provider configuration", detail, call.range);
  }
}

function missingConfiguration(
  { config }: ModuleNode,
  { name, alias, range }: { name: string; alias: string | undefined; range: SourceRange },
): readonly Diagnostic[] {
  const text = alias === undefined ? name : `${name}.${alias}`;
  const known = [...config.providers.keys(), ...declaredAliases(config)];
  // What this module itself lacks has been reported at its own call.
  if (known.includes(text)) return [];
  return [
    {
      severity: "error",
      code: "LANG_CONFIG",
      summary: "Provider configuration not present",
      detail: `There is no provider configuration "${text}" in this module.${didYouMean(text, known)}`,
      subject: range,
    },
  ];
}

/** `name.alias` of the configurations that a module declares to need. */
function declaredAliases({ requiredProviders }: ModuleConfig): Set<string> {
  const aliases = new Set<string>();
  for (const { configurationAliases } of requiredProviders.values()) {
    for (const { root, steps } of configurationAliases) {
      const [step] = steps;
      if (step?.kind === "attribute-step") aliases.add(`${root}.${step.name}`);
    }
  }
  return aliases;
}

/** Local names that a module uses, declared or not. */
function localNames(config: ModuleConfig): Set<string> {
  const names = new Set(config.requiredProviders.keys());
  for (const { name } of config.providers.values()) names.add(name);
  for (const resource of moduleResources(config)) {
    names.add(providerReference(config, resource).name);
  }
  for (const { providers } of config.modules.values()) {
    for (const { name } of providers?.values() ?? []) names.add(name);
  }
  return names;
}
