import { type ContentBlock, readBody } from "./body-content.ts";
import { decodeRemovedProvisioning } from "./decode-provisioner.ts";
import { decodeResource } from "./decode-resource.ts";
import { blockName, decodeConditions } from "./decode-values.ts";
import type { CheckConfig, ImportConfig, MovedConfig, RemovedConfig } from "./module-config.ts";
import type { StaticReader } from "./static-reader.ts";
import { nameTypes } from "./type-label.ts";

export function decodeMoved(reader: StaticReader, block: ContentBlock): MovedConfig[] {
  const { attributes } = readBody(
    block.body,
    { attributes: ["from", "to"], literals: true, required: ["from", "to"] },
    reader.diagnostics,
  );
  const [from, to] = ["from", "to"].map((name) => {
    const attribute = attributes.get(name);
    return attribute === undefined ? undefined : reader.reference(attribute.expression);
  });
  return from === undefined || to === undefined ? [] : [{ from, to, range: block.headerRange }];
}

export function decodeRemoved(reader: StaticReader, block: ContentBlock): RemovedConfig[] {
  const content = readBody(
    block.body,
    {
      attributes: ["from"],
      literals: true,
      required: ["from"],
      blocks: { lifecycle: [], provisioner: ["type"], connection: [] },
    },
    reader.diagnostics,
  );
  let destroy = true;
  for (const inner of content.blocks) {
    if (inner.type !== "lifecycle") continue;
    const lifecycle = readBody(
      inner.body,
      { attributes: ["destroy"], required: ["destroy"] },
      reader.diagnostics,
    );
    destroy = reader.flag(lifecycle.attributes.get("destroy")) ?? true;
  }
  const provisioning = decodeRemovedProvisioning(reader, content);
  const attribute = content.attributes.get("from");
  const from = attribute === undefined ? undefined : reader.reference(attribute.expression);
  return from === undefined ? [] : [{ from, destroy, ...provisioning, range: block.headerRange }];
}

export function decodeImport(reader: StaticReader, block: ContentBlock): ImportConfig[] {
  const { attributes } = readBody(
    block.body,
    {
      attributes: ["to", "id", "identity", "provider", "for_each"],
      literals: ["to", "provider"],
      required: ["to"],
    },
    reader.diagnostics,
  );
  const to = attributes.get("to")?.expression;
  const id = attributes.get("id")?.expression;
  const identity = attributes.get("identity")?.expression;
  if (to !== undefined && (id === undefined) === (identity === undefined)) {
    const detail = "What is imported is named by one of id and identity.";
    reader.fail("Invalid import block", detail, block.headerRange);
  }
  const provider = attributes.get("provider");
  if (to === undefined) return [];
  return [
    {
      to,
      id,
      identity,
      provider: provider === undefined ? undefined : reader.provider(provider.expression),
      forEach: attributes.get("for_each")?.expression,
      range: block.headerRange,
    },
  ];
}

export function decodeCheck(reader: StaticReader, block: ContentBlock): CheckConfig {
  const { blocks } = readBody(
    block.body,
    { blocks: { data: ["type", "name"], assert: [] } },
    reader.diagnostics,
  );
  const [data, second] = nameTypes(blocks).filter(({ type }) => type === "data");
  const assertions = blocks.filter(({ type }) => type === "assert");
  if (second !== undefined) {
    reader.fail(
      "Multiple data resource blocks",
      "A check has at most one data source.",
      second.headerRange,
    );
  }
  if (assertions.length === 0) {
    const detail = "A check without an assert block checks nothing.";
    reader.fail("Zero assert blocks", detail, block.headerRange);
  }
  return {
    name: blockName(reader, block),
    range: block.headerRange,
    data: data === undefined ? undefined : decodeResource(reader, "data", data),
    assertions: decodeConditions(reader, assertions),
  };
}
