import type { ScopeTraversal } from "../syntax/ast.ts";
import { sourceRange } from "../syntax/diagnostic.ts";
import { type BodyContent, type ConfigBody, type ContentBlock, readBody } from "./body-content.ts";
import { bodyReferences } from "./body-references.ts";
import type { ProvisionerConfig, ResourceMode } from "./module-config.ts";
import { rangeOf, type StaticReader } from "./static-reader.ts";

/** Names in the body of a provisioner that are the language's. */
export const PROVISIONER_META: ReadonlySet<string> = new Set(["when", "on_failure", "connection"]);

/** Provisioners of earlier releases of the reference command. */
const REMOVED = new Set(["chef", "habitat", "puppet", "salt-masterless"]);

/** The provisioners of a block, and the connection that they share. */
interface Provisioning {
  readonly provisioners: readonly ProvisionerConfig[];
  readonly connection: ConfigBody | undefined;
}

/** Reads the `provisioner` and `connection` blocks of a managed resource. */
export function decodeProvisioning(
  reader: StaticReader,
  mode: ResourceMode,
  { blocks }: BodyContent,
): Provisioning {
  const own = blocks.filter(({ type }) => type === "provisioner" || type === "connection");
  if (mode === "managed") return decode(reader, own);
  for (const { type, headerRange } of own) {
    const detail = `Blocks of type "${type}" are not expected here: only managed resources have provisioners.`;
    reader.fail("Unsupported block type", detail, headerRange);
  }
  return { provisioners: [], connection: undefined };
}

/** The same of a `removed` block, which has provisioners that run before its object is destroyed. */
export function decodeRemovedProvisioning(
  reader: StaticReader,
  { blocks }: BodyContent,
): Provisioning {
  const found = decode(
    reader,
    blocks.filter(({ type }) => type === "provisioner" || type === "connection"),
  );
  for (const { when, range } of found.provisioners) {
    if (when === "destroy") continue;
    const detail =
      'Only provisioners that run before an object is destroyed are valid in "removed" blocks. Add when = destroy.';
    reader.fail("Invalid provisioner block", detail, range);
  }
  return found;
}

function decode(reader: StaticReader, blocks: readonly ContentBlock[]): Provisioning {
  const connection = onlyConnection(reader, blocks);
  const provisioners = blocks
    .filter(({ type }) => type === "provisioner")
    .map((block) => decodeProvisioner(reader, block));
  if (connection !== undefined && provisioners.some(({ when }) => when === "destroy")) {
    requireOwnReferences(reader, bodyReferences(connection));
  }
  return { provisioners, connection };
}

function onlyConnection(
  reader: StaticReader,
  blocks: readonly ContentBlock[],
): ConfigBody | undefined {
  const [first, second] = blocks.filter(({ type }) => type === "connection");
  if (second !== undefined) {
    const detail = "There is a connection block here already. Remove one of them.";
    reader.fail("Duplicate connection block", detail, second.headerRange);
  }
  return first?.body;
}

function decodeProvisioner(reader: StaticReader, block: ContentBlock): ProvisionerConfig {
  const content = readBody(
    block.body,
    {
      attributes: ["when", "on_failure"],
      literals: ["when", "on_failure"],
      blocks: { connection: [] },
    },
    reader.diagnostics,
    { ignore: true },
  );
  const type = block.labels[0]?.value ?? "";
  if (REMOVED.has(type)) {
    const detail = `The provisioner "${type}" was deprecated in Terraform 0.13.4 and has been removed from Terraform. Use remote-exec, or the means of the system that the provisioner was for.`;
    reader.fail(`The "${type}" provisioner has been removed`, detail, block.headerRange);
  }
  const when = keyword(reader, content, "when", ["create", "destroy"]);
  const onFailure = keyword(reader, content, "on_failure", ["fail", "continue"]);
  if (when === "destroy") {
    requireOwnReferences(reader, bodyReferences(block.body, new Set(["when", "on_failure"])));
  }
  return {
    type,
    range: block.headerRange,
    when,
    onFailure,
    connection: onlyConnection(reader, content.blocks),
    body: block.body,
  };
}

/** One of some words, written without quotes or, as it once was, in them. The first is the default. */
function keyword<T extends string>(
  reader: StaticReader,
  { attributes }: BodyContent,
  name: string,
  words: readonly [T, ...T[]],
): T {
  const attribute = attributes.get(name);
  if (attribute === undefined) return words[0];
  const reference = reader.reference(attribute.expression);
  const found = words.find((word) => reference?.steps.length === 0 && reference.root === word);
  if (found !== undefined) return found;
  const detail = `The argument "${name}" requires one of the keywords ${words.join(" and ")}.`;
  reader.fail(`Invalid "${name}" keyword`, detail, rangeOf(attribute.expression));
  return words[0];
}

/** The object is the last that is left of its configuration when it is destroyed: nothing else can be referred to. */
function requireOwnReferences(reader: StaticReader, references: readonly ScopeTraversal[]): void {
  for (const { root, steps, source, start, end } of references) {
    const [step] = steps;
    const name = step?.kind === "attribute-step" ? step.name : undefined;
    if (root === "self" || root === "path" || root === "terraform") continue;
    if ((root === "count" && name === "index") || (root === "each" && name === "key")) continue;
    const detail =
      'Provisioners that run before an object is destroyed, and their connections, can refer to "self", "count.index" and "each.key" only. References to other objects would make cycles when these are destroyed as well.';
    reader.fail(
      "Invalid reference from destroy provisioner",
      detail,
      sourceRange(source, start, end),
    );
  }
}
