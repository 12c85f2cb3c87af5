import { ProviderAddress, ProviderSourceError } from "@stackwright/provider-source";
import { parseTraversal } from "../syntax/parse.ts";
import { formatKey } from "./address.ts";

/** Which configuration of a provider: those of a module are distinguished by their alias. */
export interface ProviderConfigAddress {
  /** Names of the calls from the root module; configurations belong to modules, not to instances. */
  readonly module: readonly string[];
  readonly source: ProviderAddress;
  readonly alias: string | undefined;
  /** Of an instance of a configuration with `for_each` (OpenTofu). */
  readonly key?: string | undefined;
}

/**
 * The text of a provider configuration's address, as states of the reference command have it:
 * `module.net.provider["registry.terraform.io/hashicorp/aws"].west`.
 */
export function formatProviderConfig({
  module,
  source,
  alias,
  key,
}: ProviderConfigAddress): string {
  const prefix = module.map((name) => `module.${name}.`).join("");
  const suffix = alias === undefined ? "" : `.${alias}`;
  return `${prefix}provider["${source.toString()}"]${suffix}${formatKey(key)}`;
}

/** Reads such a text; undefined where it is none. */
export function parseProviderConfig(text: string): ProviderConfigAddress | undefined {
  const { value } = parseTraversal({ name: "<address>", text });
  if (value === undefined) return undefined;
  const names = [
    value.root,
    ...value.steps.map((step) =>
      step.kind === "attribute-step"
        ? step.name
        : step.key.kind === "string"
          ? { source: step.key.value }
          : {},
    ),
  ];
  const module: string[] = [];
  while (names[0] === "module" && typeof names[1] === "string") {
    module.push(names[1]);
    names.splice(0, 2);
  }
  const [keyword, key, alias, instance, extra] = names;
  if (keyword !== "provider" || typeof key !== "object" || !("source" in key)) return undefined;
  if ((alias !== undefined && typeof alias !== "string") || extra !== undefined) return undefined;
  if (instance !== undefined && (typeof instance !== "object" || !("source" in instance)))
    return undefined;
  try {
    const source = ProviderAddress.parse(key.source);
    return { module, source, alias, ...(instance !== undefined && { key: instance.source }) };
  } catch (error) {
    if (error instanceof ProviderSourceError) return undefined;
    throw error;
  }
}
