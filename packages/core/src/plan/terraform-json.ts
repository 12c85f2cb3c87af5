import { encodeTypeJson, Mark, unmarkDeep, type Value } from "@stackwright/cty";
import { formatModulePath, parseAddress, type ResourceAddress } from "@stackwright/lang";
import {
  arrayNode,
  compactJson,
  type JsonNode,
  literalNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "@stackwright/tfstate";
import type { Configuration } from "../configuration/configuration.ts";
import { byAddress } from "./by-address.ts";
import type { Drift, OutputChange, ResourceChange } from "./change.ts";
import { type ConfigurationSchemas, configurationNode } from "./configuration-json.ts";
import { DeclaredDependencies } from "./declared-dependencies.ts";
import { hasChanges, type Plan } from "./plan.ts";
import { relevantAttributes } from "./relevant-attributes.ts";
import { blankPlan, type SecretDisplay } from "./shown-plan.ts";
import { checkNodes } from "./terraform-checks.ts";
import { pathNode, sensitiveMask, unknownMask, valueNode } from "./value-json.ts";

/** The version of the reference command whose form of plans this is. */
const TERRAFORM_VERSION = "1.11.4";

/**
 * A plan in the JSON form of the reference command (`show -json`, format 1.2), for tools that read that. Numbers have all
 * their digits. Secrets are null and `*_sensitive` says where, also for values that repeat one; with `secrets: "shown"` both
 * are exactly as the reference command writes them.
 */
export function planToTerraformJson(
  plan: Plan,
  { described, secrets = "hidden" }: TerraformJsonOptions = {},
): string {
  return compactJson(planNode(secrets === "shown" ? plan : blankPlan(plan), described));
}

/** Options of {@link planToTerraformJson}. */
export interface TerraformJsonOptions {
  /**
   * The configuration that the plan was made from. It is part of that form, and says on what objects depend and which
   * attributes are relevant, so that these are left out without it.
   */
  readonly described?:
    | { readonly configuration: Configuration; readonly schemas: ConfigurationSchemas }
    | undefined;
  /** @default "hidden" */
  readonly secrets?: SecretDisplay;
}

function planNode(plan: Plan, described: TerraformJsonOptions["described"]): JsonNode {
  const relevant = described === undefined ? [] : relevantAttributes(plan, described);
  return objectNode({
    format_version: stringNode("1.2"),
    terraform_version: stringNode(TERRAFORM_VERSION),
    variables: membersNode(plan.variables, (value) => objectNode({ value: valueNode(value) })),
    planned_values: valuesNode(plan, "after"),
    ...changesNodes(plan),
    prior_state: priorStateNode(plan, described),
    ...(described !== undefined && {
      configuration: configurationNode(described.configuration, described.schemas),
    }),
    ...(relevant.length > 0 && { relevant_attributes: arrayNode(relevant) }),
    ...(plan.checks.length > 0 && { checks: checkNodes(plan.checks) }),
    timestamp: stringNode(new Date(plan.createdAtMs).toISOString().replace(/\.\d+Z$/, "Z")),
    applyable: literalNode(hasChanges(plan)),
    complete: literalNode(!plan.partial),
    errored: literalNode(false),
  });
}

/** The members of that form that say what changes. */
export function changesNodes(plan: Plan): Record<string, JsonNode | undefined> {
  const shown = shownChanges(plan);
  return {
    ...(plan.drift.length > 0 && { resource_drift: arrayNode(plan.drift.map(driftNode)) }),
    ...(shown.length > 0 && { resource_changes: arrayNode(shown.map(changeNode)) }),
    output_changes: membersNode(
      plan.outputs.map((output) => [output.name, output]),
      outputNode,
    ),
  };
}

/** The changes of objects that are in that form, in its order. */
export function shownChanges({ mode, changes }: Plan): readonly ResourceChange[] {
  return mode === "refresh-only" ? [] : changes.filter(isShown).toSorted(inOrder);
}

/** An object by names; absent where there are none. */
function membersNode<T>(
  members: Iterable<readonly [string, T]>,
  write: (member: T) => JsonNode,
): JsonNode | undefined {
  const written = Array.from(members, ([name, member]) => [name, write(member)] as const);
  return written.length === 0 ? undefined : objectNode(Object.fromEntries(written));
}

/** The state after the refresh; absent where there is nothing in it. */
function priorStateNode(
  plan: Plan,
  described: TerraformJsonOptions["described"],
): JsonNode | undefined {
  const nothing =
    plan.changes.every((change) => sideOf(change, "before") === undefined) &&
    plan.outputs.every((output) => outputSide(output, "before") === undefined);
  if (nothing) return undefined;
  return objectNode({
    format_version: stringNode("1.0"),
    terraform_version: stringNode(TERRAFORM_VERSION),
    values: valuesNode(
      plan,
      "before",
      described && new DeclaredDependencies(described.configuration.graph, plan.changes),
    ),
  });
}

/** The value of an object on one side. What was read while planning is part of the prior state alone. */
function sideOf(
  { mode, action, before, after }: ResourceChange,
  side: "before" | "after",
): Value | undefined {
  if (mode === "data" && action !== "read")
    return side === "before" ? (after ?? before) : undefined;
  return side === "before" ? before : after;
}

/** The value of an output on one side. The refresh evaluates outputs, as far as they are known then. */
function outputSide({ before, after }: OutputChange, side: "before" | "after"): Value | undefined {
  if (side === "after") return after;
  if (before === undefined && after !== undefined && isEmpty(after)) return undefined;
  return after !== undefined && isWhollyKnown(after) ? after : before;
}

function isEmpty(value: Value): boolean {
  const [plain] = value.unmark();
  return plain.isKnown && plain.isNull;
}

/** What was read while planning, and what is taken out of the record only, is no change. */
function isShown({ mode, action, record, after }: ResourceChange): boolean {
  if (mode === "data") return action === "read";
  return !(action === "no-op" && record && after === undefined);
}

function inOrder(a: ResourceChange, b: ResourceChange): number {
  return byAddress(a, b) || (a.deposed < b.deposed ? -1 : Number(a.deposed > b.deposed));
}

const ACTIONS: Readonly<Record<ResourceChange["action"], readonly string[]>> = {
  "no-op": ["no-op"],
  create: ["create"],
  read: ["read"],
  update: ["update"],
  replace: ["delete", "create"],
  delete: ["delete"],
  forget: ["forget"],
};

function actionsNode({ action, order }: Pick<ResourceChange, "action" | "order">): JsonNode {
  const actions =
    action === "replace" && order === "create-first" ? ["create", "delete"] : ACTIONS[action];
  return arrayNode(actions.map(stringNode));
}

function placeNodes(address: string): Record<string, JsonNode | undefined> {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return {};
  const module = formatModulePath(value.module);
  return {
    ...(module !== "" && { module_address: stringNode(module) }),
    mode: stringNode(value.mode),
    type: stringNode(value.type),
    name: stringNode(value.name),
    ...indexNode(value),
  };
}

function indexNode({ key }: ResourceAddress): Record<string, JsonNode> {
  if (key === undefined) return {};
  return { index: typeof key === "number" ? literalNode(key) : stringNode(key) };
}

function changeNode(change: ResourceChange): JsonNode {
  const {
    address,
    previousAddress,
    deposed,
    provider,
    reason,
    importing,
    replacePaths,
    before,
    after,
  } = change;
  return objectNode({
    address: stringNode(address),
    ...(previousAddress !== undefined && { previous_address: stringNode(previousAddress) }),
    ...placeNodes(address),
    ...(deposed !== "" && { deposed: stringNode(deposed) }),
    provider_name: stringNode(provider.source),
    change: objectNode({
      actions: actionsNode(change),
      ...sidesNodes(before, after),
      ...(replacePaths.length > 0 && { replace_paths: arrayNode(replacePaths.map(pathNode)) }),
      ...(importing !== undefined && { importing: objectNode({ id: stringNode(importing.id) }) }),
    }),
    ...(reason !== undefined && { action_reason: stringNode(reason.replaceAll("-", "_")) }),
  });
}

function sidesNodes(before: Value | undefined, after: Value | undefined): Record<string, JsonNode> {
  return {
    before: side(before),
    after: side(after),
    after_unknown:
      after === undefined || isWhollyKnown(after) ? objectNode({}) : unknownMask(after),
    before_sensitive: before === undefined ? literalNode(false) : sensitiveMask(before),
    after_sensitive: after === undefined ? literalNode(false) : sensitiveMask(after),
  };
}

function isWhollyKnown(value: Value): boolean {
  return unmarkDeep(value)[0].isWhollyKnown;
}

function side(value: Value | undefined): JsonNode {
  return (value === undefined ? undefined : valueNode(value)) ?? literalNode(null);
}

function driftNode({ address, deposed, provider, before, after }: Drift): JsonNode {
  return objectNode({
    address: stringNode(address),
    ...placeNodes(address),
    ...(deposed !== "" && { deposed: stringNode(deposed) }),
    provider_name: stringNode(provider.source),
    change: objectNode({
      actions: arrayNode([stringNode(after === undefined ? "delete" : "update")]),
      ...sidesNodes(before, after),
    }),
  });
}

function outputNode({ action, before, after, sensitive }: OutputChange): JsonNode {
  // As with the reference command: whether it is or was sensitive, for both sides.
  const mark = literalNode(sensitive || before?.hasMark(Mark.sensitive) === true);
  return objectNode({
    actions: arrayNode([stringNode(action)]),
    before: side(before),
    ...(after?.isKnown !== false && { after: side(after) }),
    after_unknown: after === undefined ? literalNode(false) : outputUnknown(after),
    before_sensitive: mark,
    after_sensitive: mark,
  });
}

function outputUnknown(value: Value): JsonNode {
  const [plain] = value.unmark();
  return plain.isWhollyKnown ? literalNode(false) : unknownMask(plain);
}

interface ModuleTree {
  readonly address: string;
  readonly resources: JsonNode[];
  readonly children: Map<string, ModuleTree>;
}

/** All objects by module, as they were or as they will be. */
function valuesNode(
  plan: Plan,
  which: "before" | "after",
  dependencies?: DeclaredDependencies,
): JsonNode {
  const root: ModuleTree = { address: "", resources: [], children: new Map() };
  // A plan to refresh alone plans no objects.
  const isPlanned = which === "before" || plan.mode !== "refresh-only";
  for (const change of isPlanned ? plan.changes.toSorted(inOrder) : []) {
    const value = sideOf(change, which);
    const { value: address } = parseAddress(change.address);
    if (address?.kind !== "resource" || change.deposed !== "") continue;
    // What is only forgotten stays among the planned objects of the reference command, without values.
    const forgotten = which === "after" && change.action === "forget";
    if (value === undefined && !forgotten) continue;
    let at = root;
    for (const [depth] of address.module.entries()) {
      const name = formatModulePath(address.module.slice(0, depth + 1));
      const next = at.children.get(name) ?? { address: name, resources: [], children: new Map() };
      at.children.set(name, next);
      at = next;
    }
    at.resources.push(
      objectNode({
        address: stringNode(change.address),
        mode: stringNode(address.mode),
        type: stringNode(address.type),
        name: stringNode(address.name),
        ...indexNode(address),
        provider_name: stringNode(change.provider.source),
        schema_version: literalNode(value === undefined ? 0 : change.schemaVersion),
        ...(value !== undefined && valuesOf(value)),
        sensitive_values: value === undefined ? literalNode(false) : sensitiveMask(value),
        ...dependsOnNode(change, dependencies),
      }),
    );
  }
  const outputs = plan.outputs.flatMap((output) => {
    const value = outputSide(output, which);
    return value === undefined
      ? []
      : [[output.name, valueOfOutput(value, output.sensitive)] as const];
  });
  return objectNode({
    ...(outputs.length > 0 && { outputs: objectNode(Object.fromEntries(outputs)) }),
    root_module: moduleNode(root),
  });
}

/** Of managed objects only, as data sources are recorded without; and not of what is only imported now. */
function dependsOnNode(
  { address, mode, importing }: ResourceChange,
  dependencies: DeclaredDependencies | undefined,
): Record<string, JsonNode> {
  const recorded = mode === "managed" && importing === undefined;
  const found = recorded ? (dependencies?.of(address) ?? []) : [];
  return found.length === 0 ? {} : { depends_on: arrayNode(found.map(stringNode)) };
}

/** Values are left out where none is known. */
function valuesOf(value: Value): Record<string, JsonNode> {
  const node = side(value);
  return node.kind === "object" && node.members.length === 0 ? {} : { values: node };
}

function valueOfOutput(value: Value, sensitive: boolean): JsonNode {
  const [plain] = value.unmark();
  return objectNode({
    sensitive: literalNode(sensitive || value.marks.has(Mark.sensitive)),
    ...(plain.isWhollyKnown && {
      type: parseJsonNode(encodeTypeJson(plain.type)),
      value: valueNode(plain),
    }),
  });
}

function moduleNode({ address, resources, children }: ModuleTree): JsonNode {
  return objectNode({
    ...(address !== "" && { address: stringNode(address) }),
    ...(resources.length > 0 && { resources: arrayNode(resources) }),
    ...(children.size > 0 && { child_modules: arrayNode([...children.values()].map(moduleNode)) }),
  });
}
