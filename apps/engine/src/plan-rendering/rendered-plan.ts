import {
  arrayNode,
  compactJson,
  type JsonNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "@stackwright/tfstate";

type ObjectNode = Extract<JsonNode, { kind: "object" }>;

const LISTS = ["resource_changes", "resource_drift", "relevant_attributes"] as const;
/** Commands read attributes of this type as their values are, and need no schema of a provider for them. */
const DYNAMIC = stringNode("dynamic");

/**
 * A plan in the form of `terraform show -json` as that which `terraform show FILE` renders. That form has the schemas of all providers of
 * the plan, without which commands end in a crash. The server knows no schemas: it names the attributes that the values have, so
 * that a nested block is shown as an attribute with a list.
 */
export function renderedPlan(document: string): string {
  const plan = parseJsonNode(document);
  const [changes, drift] = LISTS.map((name) => itemsOf(member(plan, name)));
  const schemas = new Map<string, Map<string, Set<string>>>();
  for (const change of [...(changes ?? []), ...(drift ?? [])]) addSchema(schemas, change);
  return compactJson(
    objectNode({
      plan_format_version: stringNode("1.2"),
      provider_format_version: stringNode("1.0"),
      ...Object.fromEntries(LISTS.map((name) => [name, member(plan, name) ?? arrayNode([])])),
      output_changes: member(plan, "output_changes") ?? objectNode({}),
      provider_schemas: named(schemas, ([provider, kinds]) => [
        provider,
        objectNode(
          Object.fromEntries(
            Map.groupBy(kinds, ([kind]) => kind.slice(0, kind.indexOf(" ")))
              .entries()
              .map(([mode, found]) => [
                mode === "data" ? "data_source_schemas" : "resource_schemas",
                named(found, ([kind, attributes]) => [
                  kind.slice(kind.indexOf(" ") + 1),
                  schemaNode(attributes),
                ]),
              ]),
          ),
        ),
      ]),
    }),
  );
}

function named<T>(all: Iterable<T>, write: (one: T) => readonly [string, JsonNode]): ObjectNode {
  return objectNode(Object.fromEntries(Array.from(all, write)));
}

function schemaNode(attributes: ReadonlySet<string>): JsonNode {
  const block = named(attributes, (name) => [name, objectNode({ type: DYNAMIC })]);
  return objectNode({
    version: { kind: "literal", text: "0" },
    block: objectNode({ attributes: block }),
  });
}

function addSchema(schemas: Map<string, Map<string, Set<string>>>, change: JsonNode): void {
  const kinds = schemas.get(textOf(change, "provider_name")) ?? new Map<string, Set<string>>();
  schemas.set(textOf(change, "provider_name"), kinds);
  const kind = `${textOf(change, "mode")} ${textOf(change, "type")}`;
  const attributes = kinds.get(kind) ?? new Set<string>();
  kinds.set(kind, attributes);
  const sides = member(change, "change");
  for (const side of ["before", "after", "after_unknown"]) {
    const node = member(sides, side);
    if (node?.kind === "object") for (const [name] of node.members) attributes.add(name);
  }
}

function member(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === "object" ? node.members.find(([known]) => known === name)?.[1] : undefined;
}

function itemsOf(node: JsonNode | undefined): readonly JsonNode[] {
  return node?.kind === "array" ? node.items : [];
}

function textOf(node: JsonNode, name: string): string {
  const found = member(node, name);
  return found?.kind === "string" ? found.value : "";
}
