import { append } from "@stackwright/base/append";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { type ContentBlock, readBody } from "./body-content.ts";
import { blockName } from "./decode-values.ts";
import type { EarlyScope } from "./early-scope.ts";
import { expandKeys } from "./expansion.ts";
import type { ProviderConfig } from "./module-config.ts";
import type { StaticReader } from "./static-reader.ts";

/** Reads a `provider` block. */
export function decodeProvider(reader: StaticReader, block: ContentBlock): ProviderConfig {
  const { attributes } = readBody(
    block.body,
    { attributes: ["alias", "version", "for_each"] },
    reader.diagnostics,
    { ignore: true },
  );
  const version = attributes.get("version");
  if (version !== undefined) {
    reader.warn(
      "Version constraints inside provider configuration blocks are deprecated",
      "The version of a provider is declared in required_providers.",
      version.nameRange,
    );
  }
  const forEach = attributes.get("for_each");
  const alias = reader.text(attributes.get("alias"));
  if (forEach !== undefined && alias === undefined) {
    const detail =
      "The argument for_each is for provider configurations with an alias, by which they are named: aws.by_region[each.key].";
    reader.fail('Alias required when using "for_each"', detail, forEach.nameRange);
  }
  return {
    name: blockName(reader, block),
    alias,
    ...(forEach !== undefined && alias !== undefined && { forEach: forEach.expression }),
    version: reader.versions(version),
    range: block.headerRange,
    body: block.body,
  };
}

/** A provider configuration with the instances that it has for `for_each`. */
export function withInstances(
  provider: ProviderConfig,
  early: EarlyScope,
  diagnostics: Diagnostic[],
): ProviderConfig {
  const { forEach, name, alias = "" } = provider;
  if (forEach === undefined) return provider;
  const what = `for_each of the provider ${name}.${alias}`;
  const { value, diagnostics: found } = early.evaluateKeys(forEach, what);
  append(diagnostics, found);
  if (hasErrors(found)) return provider;
  const expansion = expandKeys(forEach, value, diagnostics);
  return expansion.kind === "for_each" ? { ...provider, instances: expansion.entries } : provider;
}
