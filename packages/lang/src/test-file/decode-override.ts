import { formatAddress } from "../address/address.ts";
import { traversalAddress } from "../address/parse-address.ts";
import { type BodySchema, type ContentBlock, readBody } from "../config/body-content.ts";
import { rangeOf, type StaticReader } from "../config/static-reader.ts";
import type { MockDefaults, TestOverride } from "./test-file.ts";

/** The blocks that say what objects and modules are replaced by. */
export const OVERRIDE_BLOCKS = {
  override_resource: [],
  override_data: [],
  override_module: [],
} as const satisfies BodySchema["blocks"];

const KINDS: Readonly<Record<string, TestOverride["kind"] | undefined>> = {
  override_resource: "resource",
  override_data: "data",
  override_module: "module",
};

/** All override blocks among others. A target has at most one. */
export function decodeOverrides(
  reader: StaticReader,
  blocks: readonly ContentBlock[],
): TestOverride[] {
  const overrides = new Map<string, TestOverride>();
  for (const block of blocks) {
    const override = decodeOverride(reader, block);
    if (override === undefined) continue;
    const address = formatAddress(override.target);
    if (overrides.has(address)) {
      const detail = `There is another ${block.type} block for ${address}. Keep one of them.`;
      reader.fail(`Duplicate ${block.type} block`, detail, block.headerRange);
      continue;
    }
    overrides.set(address, override);
  }
  return [...overrides.values()];
}

function decodeOverride(reader: StaticReader, block: ContentBlock): TestOverride | undefined {
  const kind = KINDS[block.type];
  if (kind === undefined) return undefined;
  const name = kind === "module" ? "outputs" : "values";
  const { attributes } = readBody(
    block.body,
    {
      attributes: ["target", name, "override_during"],
      required: ["target"],
      literals: ["target", "override_during"],
    },
    reader.diagnostics,
  );
  const written = attributes.get("target");
  if (written === undefined) return undefined;
  const traversal = reader.reference(written.expression);
  if (traversal === undefined) return undefined;
  const target = traversalAddress(traversal, reader.diagnostics);
  if (target === undefined) return undefined;
  if (!fits(kind, target)) {
    const what = { resource: "a managed resource", data: "a data source", module: "a module" };
    const detail = `The target of an ${block.type} block must be ${what[kind]}; ${formatAddress(target)} is not.`;
    reader.fail("Invalid override target", detail, rangeOf(written.expression));
    return undefined;
  }
  return {
    kind,
    target,
    values: attributes.get(name)?.expression,
    duringPlan: decodeDuring(reader, attributes.get("override_during")),
    range: block.headerRange,
  };
}

function fits(kind: TestOverride["kind"], target: TestOverride["target"]): boolean {
  if (kind === "module") return target.kind === "module";
  return target.kind === "resource" && target.mode === (kind === "data" ? "data" : "managed");
}

/** `override_during = plan` or `apply`; undefined where it is left out. */
export function decodeDuring(
  reader: StaticReader,
  attribute: Parameters<StaticReader["isWord"]>[0] | undefined,
): boolean | undefined {
  if (attribute === undefined) return undefined;
  if (reader.isWord(attribute, "plan")) return true;
  if (!reader.isWord(attribute, "apply")) {
    const detail = 'The argument "override_during" is plan or apply, without quotes.';
    reader.fail('Invalid "override_during" value', detail, rangeOf(attribute.expression));
  }
  return false;
}

/** `mock_resource` and `mock_data` blocks. */
export function decodeDefaults(
  reader: StaticReader,
  blocks: readonly ContentBlock[],
): MockDefaults[] {
  const found = new Map<string, MockDefaults>();
  for (const block of blocks) {
    if (block.type !== "mock_resource" && block.type !== "mock_data") continue;
    const type = block.labels[0]?.value ?? "";
    const key = `${block.type} ${type}`;
    if (found.has(key)) {
      const detail = `There is another ${block.type} block for "${type}". Keep one of them.`;
      reader.fail(`Duplicate ${block.type} block`, detail, block.headerRange);
      continue;
    }
    const { attributes, blocks: inner } = readBody(
      block.body,
      { attributes: ["defaults", "override_during"], literals: ["override_during"] },
      reader.diagnostics,
    );
    if (inner.length > 0) continue;
    found.set(key, {
      mode: block.type === "mock_data" ? "data" : "managed",
      type,
      defaults: attributes.get("defaults")?.expression,
      duringPlan: decodeDuring(reader, attributes.get("override_during")),
      range: block.headerRange,
    });
  }
  return [...found.values()];
}
