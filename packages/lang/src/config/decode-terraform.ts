import { append } from "@stackwright/base/append";
import {
  ProviderAddress,
  ProviderSourceError,
  type VersionConstraints,
} from "@stackwright/provider-source";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { staticList } from "../syntax/static.ts";
import {
  type ContentAttribute,
  type ContentBlock,
  readAttributes,
  readBody,
} from "./body-content.ts";
import { decodeBackend } from "./decode-backend.ts";
import type { BackendConfig, ModuleConfig, RequiredProvider } from "./module-config.ts";
import type { EncryptionConfig } from "./state-encryption.ts";
import { rangeOf, type StaticReader } from "./static-reader.ts";

/** What the `terraform` blocks of a module say. */
interface TerraformSettings {
  readonly requiredVersions: ModuleConfig["requiredVersions"];
  readonly requiredProviders: Map<string, RequiredProvider>;
  /** Of several blocks the last one of an override file, else the first. */
  readonly backend: BackendConfig | undefined;
  readonly encryption: EncryptionConfig | undefined;
}

/** Blocks that configure the reference command and mean nothing here. */
const IGNORED = new Set(["backend", "cloud", "provider_meta"]);

/**
 * Reads all `terraform` blocks of a module, those of override files last. The providers must be
 * declared in one block; where RFS templates are accepted several elements of a JSON array may
 * declare different names.
 */
export function decodeTerraform(
  reader: StaticReader,
  primary: readonly ContentBlock[],
  overrides: readonly ContentBlock[],
  rfsTemplates: boolean,
): TerraformSettings {
  const requiredVersions: { constraint: string; range: RequiredProvider["range"] }[] = [];
  const requiredProviders = new Map<string, RequiredProvider>();
  let declared: ContentBlock | undefined;
  let backend: BackendConfig | undefined;
  let encryption: EncryptionConfig | undefined;
  const read = (block: ContentBlock, override: boolean): void => {
    const { attributes, blocks } = readBody(
      block.body,
      {
        attributes: ["required_version", "experiments"],
        literals: true,
        blocks: {
          required_providers: [],
          backend: ["type"],
          cloud: [],
          encryption: [],
          provider_meta: ["provider"],
        },
      },
      reader.diagnostics,
    );
    const version = attributes.get("required_version");
    const constraint = reader.text(version);
    if (
      version !== undefined &&
      constraint !== undefined &&
      reader.versions(version) !== undefined
    ) {
      if (override) requiredVersions.length = 0;
      requiredVersions.push({ constraint, range: version.nameRange });
    }
    for (const inner of blocks) {
      if (inner.type === "encryption") {
        const { body, headerRange: range } = inner;
        if (encryption === undefined) encryption = { body, range };
        else if (override) encryption = { body, range };
        continue;
      }
      if (IGNORED.has(inner.type)) {
        const keepsState = inner.type === "backend" || inner.type === "cloud";
        if (keepsState && (override || backend === undefined)) backend = decodeBackend(inner);
        // Adoption uses it; commands that plan warn where no state was adopted from it.
        if (keepsState) continue;
        const detail = `The block "${inner.type}" is ignored: providers do not receive it.`;
        reader.warn("Block has no effect", detail, inner.headerRange);
        continue;
      }
      const again = declared !== undefined && !override;
      if (again && !(rfsTemplates && inner.body.kind === "json-body")) {
        const detail = "The providers of a module are declared in one required_providers block.";
        reader.fail("Duplicate required providers configuration", detail, inner.headerRange);
        continue;
      }
      if (!override) declared = inner;
      for (const provider of decodeRequiredProviders(reader, inner)) {
        if (requiredProviders.has(provider.name) && !override) {
          const detail = `The provider "${provider.name}" is declared already.`;
          reader.fail("Duplicate required provider", detail, provider.range);
          continue;
        }
        requiredProviders.set(provider.name, provider);
      }
    }
  };
  for (const block of primary) read(block, false);
  for (const block of overrides) read(block, true);
  return { requiredVersions, requiredProviders, backend, encryption };
}

function decodeRequiredProviders(reader: StaticReader, block: ContentBlock): RequiredProvider[] {
  return [...readAttributes(block.body, reader.diagnostics, { literals: true }).values()].map(
    (attribute) => {
      const { name, nameRange: range, expression } = attribute;
      const base = { name, range, source: undefined, version: undefined, configurationAliases: [] };
      if (name !== name.toLowerCase()) {
        const detail = `The local name of a provider is written in lower case: ${name.toLowerCase()}.`;
        reader.fail("Invalid provider local name", detail, range);
      }
      if (expression.kind !== "object") {
        return { ...base, version: reader.versions(attribute) };
      }
      return { ...base, ...decodeRequirement(reader, expression) };
    },
  );
}

function decodeRequirement(
  reader: StaticReader,
  expression: Extract<Expression, { kind: "object" }>,
): Pick<RequiredProvider, "source" | "version" | "configurationAliases"> {
  let source: ProviderAddress | undefined;
  let version: VersionConstraints | undefined;
  let configurationAliases: ScopeTraversal[] = [];
  for (const { key, value } of expression.items) {
    const name = key.literal ?? reader.literal(key.expression)?.asString() ?? "";
    const attribute: ContentAttribute = { name, nameRange: rangeOf(key), expression: value };
    switch (name) {
      case "source":
        source = decodeSource(reader, attribute);
        break;
      case "version":
        version = reader.versions(attribute);
        break;
      case "configuration_aliases": {
        const { value: list, diagnostics } = staticList(value);
        append(reader.diagnostics, diagnostics ?? []);
        configurationAliases = (list ?? []).flatMap((element) => reader.reference(element) ?? []);
        break;
      }
      default: {
        const detail = `A provider is declared by source, version and configuration_aliases; "${name}" is not one of them.`;
        reader.fail("Invalid required_providers object", detail, rangeOf(key));
      }
    }
  }
  return { source, version, configurationAliases };
}

function decodeSource(
  reader: StaticReader,
  attribute: ContentAttribute,
): ProviderAddress | undefined {
  const written = reader.text(attribute);
  if (written === undefined) return undefined;
  try {
    return ProviderAddress.parse(written);
  } catch (error) {
    if (!(error instanceof ProviderSourceError)) throw error;
    const detail = `The source "${written}" is not an address of a provider: ${error.message}.`;
    reader.fail("Invalid provider source string", detail, rangeOf(attribute.expression));
    return undefined;
  }
}

/** The form of an RFS template: `Provider "x" { source version }` at the top of a file. */
export function decodeRfsProvider(
  reader: StaticReader,
  block: ContentBlock,
  accepted: boolean,
): RequiredProvider | undefined {
  const name = block.labels[0]?.value ?? "";
  const { attributes } = readBody(
    block.body,
    { attributes: ["source", "version"], literals: true, required: ["source"] },
    reader.diagnostics,
  );
  const source = attributes.get("source");
  const version = attributes.get("version");
  const written = [source, version].flatMap((attribute) =>
    attribute === undefined
      ? []
      : [`${attribute.name} = ${JSON.stringify(reader.text(attribute) ?? "")}`],
  );
  const standard = `terraform {\n  required_providers {\n    ${name} = { ${written.join(", ")} }\n  }\n}`;
  const detail = `Providers are declared in a terraform block. The standard form of this is:\n\n${standard.replace(/^/gm, "  ")}`;
  if (!accepted) {
    reader.fail('Unsupported block type "Provider"', detail, block.headerRange);
    return undefined;
  }
  reader.warn('Block type "Provider" is not standard', detail, block.headerRange);
  return {
    name,
    range: block.headerRange,
    source: source === undefined ? undefined : decodeSource(reader, source),
    version: reader.versions(version),
    configurationAliases: [],
  };
}
