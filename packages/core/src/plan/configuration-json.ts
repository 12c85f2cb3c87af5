import { Value } from "@stackwright/cty";
import {
  type BoundBlock,
  type BoundBody,
  bindBody,
  type ConfigBody,
  type EvaluationScope,
  type Expression,
  evaluate,
  expressionReferences,
  type ModuleNode,
  type OutputConfig,
  PROVIDER_META,
  parseReference,
  RESOURCE_META,
  type ResolvedProvider,
  type ResourceConfig,
  readAttributes,
  type ScopeTraversal,
} from "@stackwright/lang";
import type { BlockSchema, ResourceSchema } from "@stackwright/mux/router";
import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { Configuration } from "../configuration/configuration.ts";
import { bindProvisioners } from "../provisioners/bind-provisioners.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import { valueNode } from "./value-json.ts";

/** Schemas by the source of their provider. What has none is written without its arguments. */
export interface ConfigurationSchemas {
  provider(source: string): BlockSchema | undefined;
  resource(
    source: string,
    resource: Pick<ResourceConfig, "mode" | "type">,
  ): ResourceSchema | undefined;
}

/**
 * A configuration in the reference command's JSON form of a plan: for every argument its value where that is constant,
 * and the references in it. Ephemeral resources and the blocks that `dynamic` blocks generate are not part of that
 * form.
 *
 * Source: Terraform's JSON output format, "configuration representation", and the command's output.
 */
export function configurationNode(
  configuration: Configuration,
  schemas: ConfigurationSchemas,
): JsonNode {
  const writer = new ConfigurationWriter(configuration, schemas);
  return objectNode({
    provider_config: writer.providers(),
    root_module: writer.module(configuration.root),
  });
}

type Members = Record<string, JsonNode>;

class ConfigurationWriter {
  readonly #configuration: Configuration;
  readonly #schemas: ConfigurationSchemas;

  constructor(configuration: Configuration, schemas: ConfigurationSchemas) {
    this.#configuration = configuration;
    this.#schemas = schemas;
  }

  providers(): JsonNode {
    const { configurations, requirements } = this.#configuration.resolution;
    const entries: [string, JsonNode][] = [];
    for (const resolved of configurations.values()) {
      // Instances of one with for_each are the one block that is written.
      if (resolved.instance !== undefined) continue;
      const { module, source, name, alias, config, constraints } = resolved;
      const address = pathText(module);
      const required =
        address === "" ? requirements.get(source.toString())?.constraints : constraints;
      const version = required?.toString() ?? "";
      const schema = this.#schemas.provider(source.toString());
      const expressions =
        config === undefined || schema === undefined
          ? {}
          : bodyMembers(bound(config.body, schema, PROVIDER_META));
      entries.push([
        providerKey(resolved),
        objectNode({
          name: stringNode(name),
          full_name: stringNode(source.toString()),
          ...(alias !== undefined && { alias: stringNode(alias) }),
          ...(address !== "" && { module_address: stringNode(address) }),
          ...(version !== "" && { version_constraint: stringNode(version) }),
          ...filled("expressions", expressions),
        }),
      ]);
    }
    return sorted([...this.#unused(new Set(entries.map(([key]) => key))), ...entries]);
  }

  /** Providers that the root module requires, and that nothing uses. */
  #unused(known: ReadonlySet<string>): [string, JsonNode][] {
    const { root, resolution } = this.#configuration;
    return [...root.config.requiredProviders.keys()].flatMap((name): [string, JsonNode][] => {
      if (known.has(name)) return [];
      const source = resolution.sourceOf(root, name).toString();
      const version = resolution.requirements.get(source)?.constraints.toString();
      const members = { name: stringNode(name), full_name: stringNode(source) };
      return [[name, objectNode({ ...members, ...text("version_constraint", version) })]];
    });
  }

  module(node: ModuleNode): JsonNode {
    const { outputs, variables, modules } = node.config;
    const resources = this.#resources(node);
    return objectNode({
      ...(outputs.size > 0 && {
        outputs: sorted([...outputs].map(([name, output]) => [name, outputNode(output)])),
      }),
      ...(resources.length > 0 && { resources: arrayNode(resources) }),
      ...(modules.size > 0 && {
        module_calls: sorted([...modules.keys()].map((name) => [name, this.#call(node, name)])),
      }),
      ...(variables.size > 0 && {
        variables: sorted(
          [...variables.values()].map((variable) => {
            const { name, default: value, description, sensitive } = variable;
            return [
              name,
              objectNode({
                ...(value !== undefined && { default: constant(value) ?? literalNode(null) }),
                ...text("description", description),
                ...(sensitive && { sensitive: literalNode(true) }),
              }),
            ];
          }),
        ),
      }),
    });
  }

  /** Managed resources first, then data sources, those of checks among them. */
  #resources(node: ModuleNode): readonly JsonNode[] {
    const all = [
      ...node.config.resources.values(),
      ...[...node.config.checks.values()].flatMap(({ data }) => data ?? []),
    ];
    return (["managed", "data"] as const).flatMap((mode) =>
      all
        .filter((resource) => resource.mode === mode)
        .map((resource) => [addressOf(resource), resource] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([address, resource]) => this.#resource(node, address, resource)),
    );
  }

  #resource(node: ModuleNode, address: string, resource: ResourceConfig): JsonNode {
    const { mode, type, name, body } = resource;
    const provider = this.#configuration.resolution.forResource(node, resource);
    const schema = provider && this.#schemas.resource(provider.source.toString(), resource);
    const expressions =
      schema === undefined ? {} : bodyMembers(bound(body, schema.block, RESOURCE_META));
    return objectNode({
      address: stringNode(address),
      mode: stringNode(mode),
      type: stringNode(type),
      name: stringNode(name),
      ...(provider !== undefined && { provider_config_key: stringNode(providerKey(provider)) }),
      ...provisionersNode(resource),
      ...filled("expressions", expressions),
      schema_version: literalNode(schema?.version ?? 0),
      ...repetition(resource),
    });
  }

  #call(node: ModuleNode, name: string): JsonNode {
    const call = node.config.modules.get(name);
    const child = node.children.get(name);
    if (call === undefined || child === undefined) return objectNode({});
    const { variables } = child.config;
    const inputs = [...readAttributes(call.body, [])]
      .filter(([input]) => variables.has(input))
      .map(([input, { expression }]) => [input, expressionNode(expression)] as const);
    return objectNode({
      source: stringNode(call.source),
      ...filled("expressions", Object.fromEntries(inputs)),
      ...(call.version !== undefined && {
        version_constraint: stringNode(call.version.toString()),
      }),
      ...repetition(call),
      module: this.module(child),
    });
  }
}

function provisionersNode(resource: ResourceConfig): Members {
  const { provisioners } = bindProvisioners(resource);
  if (provisioners.length === 0) return {};
  const nodes = provisioners.map(({ config, body }) =>
    objectNode({
      type: stringNode(config.type),
      ...filled("expressions", bodyMembers(body)),
    }),
  );
  return { provisioners: arrayNode(nodes) };
}

function bound(body: ConfigBody, schema: BlockSchema, meta: typeof RESOURCE_META): BoundBody {
  return bindBody(body, schema, { meta }).body;
}

function bodyMembers({ attributes, blocks }: BoundBody): Members {
  const members: Members = {};
  for (const [name, { expression }] of attributes) members[name] = expressionNode(expression);
  for (const [name, { schema, blocks: found }] of blocks) {
    const written = found.filter((block) => block.kind === "static");
    const [first] = written;
    if (first === undefined) continue;
    const inner = (block: BoundBlock): JsonNode => sorted(Object.entries(bodyMembers(block.body)));
    switch (schema.nesting) {
      case "single":
      case "group":
        members[name] = inner(first);
        break;
      case "map":
        members[name] = sorted(
          written.map((block) => [block.labels[0]?.value ?? "", inner(block)] as const),
        );
        break;
      case "list":
      case "set":
      default:
        members[name] = arrayNode(written.map(inner));
    }
  }
  return members;
}

function outputNode(output: OutputConfig): JsonNode {
  const { sensitive, ephemeral, description, expression, dependsOn } = output;
  return objectNode({
    ...(sensitive && { sensitive: literalNode(true) }),
    ...(ephemeral && { ephemeral: literalNode(true) }),
    expression: expressionNode(expression),
    ...text("description", description),
    ...dependsNode(dependsOn),
  });
}

function repetition({
  count,
  forEach,
  dependsOn,
}: Pick<ResourceConfig, "count" | "forEach" | "dependsOn">): Members {
  return {
    ...repeatedBy("count_expression", count),
    ...repeatedBy("for_each_expression", forEach),
    ...dependsNode(dependsOn),
  };
}

/** Left out where there is nothing to say about the expression. */
function repeatedBy(name: string, expression: Expression | undefined): Members {
  const members = expression === undefined ? {} : expressionMembers(expression);
  return Object.keys(members).length === 0 ? {} : { [name]: objectNode(members) };
}

function dependsNode(dependsOn: readonly ScopeTraversal[]): Members {
  if (dependsOn.length === 0) return {};
  return { depends_on: arrayNode(dependsOn.map((one) => stringNode(traversalText(one)))) };
}

/** Names that are nowhere defined, and no functions: what still has a value is constant. */
const NOTHING: EvaluationScope = {
  variable: () => Value.dynamic,
  names: () => [],
  functions: {
    host: { maxStringLength: 1024 * 1024 },
    get: () => undefined,
    names: () => [],
  },
};

function expressionNode(expression: Expression): JsonNode {
  return objectNode(expressionMembers(expression));
}

function expressionMembers(expression: Expression): Members {
  const value = constant(evaluate(expression, NOTHING).value);
  const references = expressionReferences(expression).flatMap(referenceTexts);
  return {
    ...(value !== undefined && { constant_value: value }),
    ...(references.length > 0 && { references: arrayNode(references.map(stringNode)) }),
  };
}

function constant(marked: Value): JsonNode | undefined {
  const value = withoutMarks(marked);
  return value.isWhollyKnown ? valueNode(value) : undefined;
}

/** A reference as written, then without its last step, and so on down to what it is about, and what that is a part of. */
function referenceTexts(traversal: ScopeTraversal): readonly string[] {
  const reference = parseReference(traversal);
  if (reference === undefined) return [];
  const { subject, steps } = reference;
  const own = traversal.steps.length - steps.length;
  const texts = Array.from({ length: steps.length + 1 }, (_, at) =>
    traversalText(traversal, traversal.steps.length - at),
  );
  const keyed =
    (subject.kind === "resource" || subject.kind === "module") && subject.key !== undefined;
  const ofModule = subject.kind === "module" && subject.output !== undefined;
  if (ofModule || keyed) texts.push(traversalText(traversal, own - 1));
  return texts;
}

/** The text of a reference with so many of its steps. */
function traversalText({ root, steps }: ScopeTraversal, count = steps.length): string {
  return steps.slice(0, count).reduce((before, step) => {
    if (step.kind === "attribute-step") return `${before}.${step.name}`;
    const { key } = step;
    const inside =
      key.kind === "string" ? JSON.stringify(key.value) : key.source.text.slice(key.start, key.end);
    return `${before}[${inside}]`;
  }, root);
}

function addressOf({ mode, type, name }: ResourceConfig): string {
  return `${mode === "managed" ? "" : `${mode}.`}${type}.${name}`;
}

function pathText({ path }: ModuleNode): string {
  return path.map((name) => `module.${name}`).join(".");
}

/** How resources name the configuration of their provider: `aws`, `aws.west`, `module.net:aws.west`. */
function providerKey({ module, name, alias }: ResolvedProvider): string {
  const path = pathText(module);
  return `${path === "" ? "" : `${path}:`}${name}${alias === undefined ? "" : `.${alias}`}`;
}

function filled(name: string, members: Members): Members {
  const entries = Object.entries(members);
  return entries.length === 0 ? {} : { [name]: sorted(entries) };
}

function text(name: string, value: string | undefined): Members {
  return value === undefined || value === "" ? {} : { [name]: stringNode(value) };
}

function sorted(entries: readonly (readonly [string, JsonNode])[]): JsonNode {
  return objectNode(Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}
