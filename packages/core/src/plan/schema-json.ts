import { encodeTypeJson } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  NestedAttributeSchema,
  ResourceSchema,
} from "@stackwright/mux/router";
import {
  type JsonNode,
  literalNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "@stackwright/tfstate";

/** The schema of a type of resources, in the form of `terraform providers schema -json`. */
export function resourceSchemaNode({ version, block }: ResourceSchema): JsonNode {
  return objectNode({ version: literalNode(version), block: blockSchemaNode(block) });
}

/** The schema of a block, in the same form. */
export function blockSchemaNode({
  attributes,
  blocks,
  description,
  descriptionKind,
  deprecated,
}: BlockSchema): JsonNode {
  return objectNode({
    ...(attributes.size > 0 && { attributes: attributesNode(attributes) }),
    ...(blocks.size > 0 && {
      block_types: namedNodes(blocks, ({ nesting, block, minItems, maxItems }) =>
        objectNode({
          nesting_mode: stringNode(nesting),
          block: blockSchemaNode(block),
          ...(minItems > 0 && { min_items: literalNode(minItems) }),
          ...(maxItems > 0 && { max_items: literalNode(maxItems) }),
        }),
      ),
    }),
    ...(description !== "" && { description: stringNode(description) }),
    description_kind: stringNode(descriptionKind ?? "plain"),
    ...(deprecated && { deprecated: literalNode(true) }),
  });
}

function attributesNode(attributes: ReadonlyMap<string, AttributeSchema>): JsonNode {
  return namedNodes(attributes, (attribute) =>
    objectNode({
      ...(attribute.nested === undefined
        ? { type: parseJsonNode(encodeTypeJson(attribute.type)) }
        : { nested_type: nestedNode(attribute.nested) }),
      ...(attribute.description !== "" && { description: stringNode(attribute.description) }),
      description_kind: stringNode(attribute.descriptionKind ?? "plain"),
      ...(attribute.deprecated && { deprecated: literalNode(true) }),
      ...(attribute.required && { required: literalNode(true) }),
      ...(attribute.optional && { optional: literalNode(true) }),
      ...(attribute.computed && { computed: literalNode(true) }),
      ...(attribute.sensitive && { sensitive: literalNode(true) }),
      ...(attribute.writeOnly && { write_only: literalNode(true) }),
    }),
  );
}

function nestedNode({ nesting, attributes }: NestedAttributeSchema): JsonNode {
  return objectNode({ attributes: attributesNode(attributes), nesting_mode: stringNode(nesting) });
}

function namedNodes<T>(all: ReadonlyMap<string, T>, write: (one: T) => JsonNode): JsonNode {
  return objectNode(Object.fromEntries(Array.from(all, ([name, one]) => [name, write(one)])));
}
