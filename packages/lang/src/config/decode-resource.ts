import { append } from "@stackwright/base/append";
import { type Diagnostic } from "../syntax/diagnostic.ts";
import { expressionCalls, expressionReferences } from "../syntax/references.ts";
import { nativeForm, staticList, staticMap } from "../syntax/static.ts";
import {
  type BodyContent,
  type ContentAttribute,
  type ContentBlock,
  readBody,
} from "./body-content.ts";
import { decodeProvisioning } from "./decode-provisioner.ts";
import { blockName, decodeConditions } from "./decode-values.ts";
import type { EarlyScope } from "./early-scope.ts";
import type {
  LifecycleConfig,
  ModuleCall,
  ProviderConfigReference,
  Repetition,
  ResourceConfig,
  ResourceMode,
} from "./module-config.ts";
import { parseModuleSource } from "./module-source.ts";
import { checkTrigger } from "./replacement-triggers.ts";
import { rangeOf, StaticReader } from "./static-reader.ts";
import { writtenToken } from "./type-label.ts";

const TOKEN_FORM =
  " Neither is it a token, by which a Pulumi provider calls a type: those have three parts, package:module:Name.";

const REPETITION = ["count", "for_each", "depends_on"] as const;

/** How often something exists; count and for_each exclude each other. */
function decodeRepetition(reader: StaticReader, { attributes }: BodyContent): Repetition {
  const count = attributes.get("count");
  const forEach = attributes.get("for_each");
  if (count !== undefined && forEach !== undefined) {
    const detail = "Only one of count and for_each can say how many instances there are.";
    reader.fail('Invalid combination of "count" and "for_each"', detail, forEach.nameRange);
  }
  return {
    count: count?.expression,
    forEach: forEach?.expression,
    dependsOn: reader.references(attributes.get("depends_on")),
  };
}

export function decodeResource(
  reader: StaticReader,
  mode: ResourceMode,
  block: ContentBlock,
): ResourceConfig {
  const content = readBody(
    block.body,
    {
      attributes: [...REPETITION, "provider"],
      literals: ["depends_on", "provider"],
      blocks: {
        lifecycle: [],
        connection: [],
        provisioner: ["type"],
      },
    },
    reader.diagnostics,
    { ignore: true },
  );
  const provider = content.attributes.get("provider");
  return {
    mode,
    type: blockName(reader, block, 0, TOKEN_FORM),
    token: writtenToken(block),
    name: blockName(reader, block, 1),
    range: block.headerRange,
    provider: provider === undefined ? undefined : reader.provider(provider.expression),
    ...decodeRepetition(reader, content),
    enabled: decodeEnabled(reader, content),
    lifecycle: decodeLifecycle(reader, mode, content),
    ...decodeProvisioning(reader, mode, content),
    body: block.body,
  };
}

/** The argument `enabled` of the lifecycle block, which has the meaning of a repetition. */
function decodeEnabled(
  reader: StaticReader,
  { attributes, blocks }: BodyContent,
): Repetition["enabled"] {
  const block = blocks.find(({ type }) => type === "lifecycle");
  if (block === undefined) return undefined;
  // Everything else in the block is read, and reported, with the lifecycle.
  const content = readBody(block.body, { attributes: ["enabled"] }, [], { ignore: true });
  const enabled = content.attributes.get("enabled");
  for (const name of ["count", "for_each"]) {
    if (enabled === undefined || !attributes.has(name)) continue;
    const detail = `The argument "enabled" decides whether one instance exists, so that "${name}" cannot be set as well.`;
    reader.fail(`Invalid combination of "${name}" and "enabled"`, detail, enabled.nameRange);
  }
  return enabled?.expression;
}

function decodeLifecycle(
  reader: StaticReader,
  mode: ResourceMode,
  { blocks }: BodyContent,
): LifecycleConfig {
  const own = blocks.filter(({ type }) => type === "lifecycle");
  const [block, second] = own;
  if (second !== undefined) {
    reader.fail(
      "Duplicate lifecycle block",
      "A resource has at most one lifecycle block.",
      second.headerRange,
    );
  }
  const managed = mode === "managed";
  const { attributes, blocks: conditions } =
    block === undefined
      ? { attributes: new Map<string, never>(), blocks: [] }
      : readBody(
          block.body,
          {
            attributes: managed
              ? [
                  "enabled",
                  "create_before_destroy",
                  "prevent_destroy",
                  "destroy",
                  "ignore_changes",
                  "replace_triggered_by",
                ]
              : ["enabled"],
            literals: ["ignore_changes", "replace_triggered_by"],
            blocks: { precondition: [], postcondition: [] },
          },
          reader.diagnostics,
        );
  const ignore = attributes.get("ignore_changes");
  const triggers = attributes.get("replace_triggered_by");
  return {
    createBeforeDestroy: reader.flag(attributes.get("create_before_destroy")),
    preventDestroy: reader.flag(attributes.get("prevent_destroy")) ?? false,
    destroy: reader.flag(attributes.get("destroy")) ?? true,
    ignoreChanges:
      ignore !== undefined && reader.isWord(ignore, "all") ? "all" : reader.references(ignore),
    replaceTriggeredBy:
      triggers === undefined
        ? []
        : taken(staticList(triggers.expression), reader.diagnostics).map((trigger) => {
            const { value = trigger, diagnostics = [] } = nativeForm(trigger);
            append(reader.diagnostics, diagnostics);
            checkTrigger(reader, value);
            return value;
          }),
    preconditions: decodeConditions(
      reader,
      conditions.filter(({ type }) => type === "precondition"),
    ),
    postconditions: decodeConditions(
      reader,
      conditions.filter(({ type }) => type === "postcondition"),
    ),
  };
}

function taken<T>(
  result: {
    readonly value?: readonly T[] | undefined;
    readonly diagnostics?: readonly Diagnostic[] | undefined;
  },
  diagnostics: Diagnostic[],
): readonly T[] {
  append(diagnostics, result.diagnostics ?? []);
  return result.value ?? [];
}

export function decodeModuleCall(
  reader: StaticReader,
  block: ContentBlock,
): ModuleCall | undefined {
  const content = readBody(
    block.body,
    {
      attributes: [...REPETITION, "source", "version", "providers"],
      literals: ["providers", "depends_on"],
      required: ["source"],
    },
    reader.diagnostics,
    { ignore: true },
  );
  const early: ModuleCall["early"] = {
    ...earlyAttribute(content, "source"),
    ...earlyAttribute(content, "version"),
  };
  const isEarly = Object.keys(early).length > 0;
  const sourceAttribute = content.attributes.get("source");
  const source = early.source === undefined ? reader.text(sourceAttribute) : "";
  if (source === undefined) return undefined;
  if (content.attributes.has("version") && sourceAttribute !== undefined && !isEarly) {
    checkVersioned(reader, source, sourceAttribute);
  }
  return {
    name: blockName(reader, block),
    range: block.headerRange,
    source,
    version:
      early.version === undefined ? reader.versions(content.attributes.get("version")) : undefined,
    ...(isEarly && { early }),
    providers: decodeProviders(reader, content),
    ...decodeRepetition(reader, content),
    body: block.body,
  };
}

/** An argument that is an expression of something else, as OpenTofu and newer versions of Terraform have it. */
function earlyAttribute(
  { attributes }: BodyContent,
  name: "source" | "version",
): { readonly [N in typeof name]?: ContentAttribute } {
  const attribute = attributes.get(name);
  if (attribute === undefined) return {};
  const { expression } = attribute;
  const isConstant =
    expressionReferences(expression).length === 0 && expressionCalls(expression).length === 0;
  return isConstant ? {} : { [name]: attribute };
}

/** A call whose source and version are evaluated; undefined after an error, which is reported. */
export function completeModuleCall(
  call: ModuleCall,
  scope: EarlyScope,
  diagnostics: Diagnostic[],
): ModuleCall | undefined {
  const { early, name } = call;
  if (early === undefined) return call;
  const readerOf = (argument: string): StaticReader =>
    new StaticReader(diagnostics, (expression) =>
      scope.evaluate(expression, `the ${argument} of module "${name}"`),
    );
  const source = early.source === undefined ? call.source : readerOf("source").text(early.source);
  if (source === undefined) return undefined;
  const { version } = early;
  const versions = version === undefined ? call.version : readerOf("version").versions(version);
  if (version !== undefined && versions === undefined) return undefined;
  if (versions !== undefined) {
    const at = early.source ?? version;
    if (at !== undefined) checkVersioned(readerOf("source"), source, at);
  }
  return { ...call, source, version: versions };
}

/** Only modules of a registry have versions. */
function checkVersioned(reader: StaticReader, source: string, { expression }: ContentAttribute) {
  if (isRegistry(source)) return;
  const detail = `The argument "version" is for modules of a registry, and ${JSON.stringify(source)} is not the address of one. Remove "version", or use the address of a registry.`;
  reader.fail("Invalid registry module source address", detail, rangeOf(expression));
}

function isRegistry(source: string): boolean {
  try {
    return parseModuleSource(source).kind === "registry";
  } catch {
    // What is wrong with the source is reported where the module is loaded.
    return true;
  }
}

/** `providers = { aws = aws.west, aws.other = aws }` */
export function decodeProviders(
  reader: StaticReader,
  { attributes }: BodyContent,
): Map<string, ProviderConfigReference> | undefined {
  const attribute = attributes.get("providers");
  if (attribute === undefined) return undefined;
  const providers = new Map<string, ProviderConfigReference>();
  for (const { key, value } of taken(staticMap(attribute.expression), reader.diagnostics)) {
    const inside = reader.provider(key.expression);
    const outside = reader.provider(value);
    if (inside === undefined || outside === undefined) continue;
    if (inside.key !== undefined) {
      const detail =
        "The left side names a configuration of the called module, which has no instances: the key belongs to the right side.";
      reader.fail("Invalid module provider configuration", detail, rangeOf(inside.key));
    }
    const name = inside.alias === undefined ? inside.name : `${inside.name}.${inside.alias}`;
    if (providers.has(name)) {
      const detail = `A configuration for "${name}" is passed already.`;
      reader.fail("Duplicate provider address", detail, rangeOf(key));
    }
    providers.set(name, outside);
  }
  return providers;
}
