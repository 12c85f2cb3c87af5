import { Path } from "@stackwright/cty";
import { formatKey, parseProviderConfig } from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import type { TerraformInstance, TerraformResource, TerraformState } from "@stackwright/tfstate";
import { compactJson, type JsonNode } from "@stackwright/tfstate";
import { EngineError } from "../errors.ts";
import { formatAlias } from "../providers/provider-alias.ts";
import type { StackOutput } from "../state/stack-state.ts";
import type { StateChange } from "../state/state-change.ts";
import type { Dependency, RecordedValue } from "../state/state-object.ts";

/** A state file as what has to be written to take it over. */
export interface ImportedState {
  /** One `adopt` per object; for an empty stack. They do not depend on each other's order. */
  readonly changes: readonly Extract<StateChange, { kind: "adopt" }>[];
  readonly outputs: ReadonlyMap<string, StackOutput>;
}

/**
 * Converts a state file to changes of a stack's state. Numbers, private bytes and sensitive paths stay unchanged.
 * Dependencies name whole resources there, so they do here. `ENGINE_STATE_FILE_INVALID`.
 */
export function importState(state: TerraformState): ImportedState {
  const resources = new Map<string, Set<string>>();
  for (const resource of state.resources) {
    const address = resourceAddress(resource);
    const known = resources.get(withoutKeys(address));
    if (known === undefined) resources.set(withoutKeys(address), new Set([address]));
    else known.add(address);
  }
  const changes = state.resources.flatMap((resource) =>
    resource.instances.map((instance) => adoption(resource, instance, resources)),
  );
  const outputs = new Map(
    state.outputs.map(({ name, value, type, sensitive }) => [
      name,
      { type: compactJson(type), json: compactJson(value), sensitive },
    ]),
  );
  return { changes, outputs };
}

/** An address without the keys of modules and instances: of the configuration that it comes from. */
export function withoutKeys(address: string): string {
  return address.includes("[") ? address.replace(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, "") : address;
}

/** The address of a resource without a key. */
function resourceAddress({ module, mode, type, name }: TerraformResource): string {
  return `${module === "" ? "" : `${module}.`}${mode === "data" ? "data." : ""}${type}.${name}`;
}

function adoption(
  resource: TerraformResource,
  instance: TerraformInstance,
  resources: ReadonlyMap<string, ReadonlySet<string>>,
): ImportedState["changes"][number] {
  const address = `${resourceAddress(resource)}${formatKey(instance.indexKey)}`;
  const { identity } = instance;
  const value: RecordedValue = {
    schemaVersion: instance.schemaVersion,
    json: compactJson(instance.attributes),
    sensitive: sensitivePaths(instance.sensitiveAttributes, address),
  };
  return {
    kind: "adopt",
    key: { address, deposed: instance.deposed },
    object: {
      mode: resource.mode,
      type: resource.type,
      provider: providerReference(instance.provider ?? resource.provider),
      // They name the configuration; here they name what came from it in each instance of its module.
      dependencies: instance.dependencies.flatMap((name) =>
        [...(resources.get(name) ?? [name])].map(
          (target): Dependency => ({ address: target, scope: "resource", kind: "reference" }),
        ),
      ),
      createBeforeDestroy: instance.createBeforeDestroy,
    },
    content: {
      value,
      privateBytes: instance.private,
      ...(identity === undefined
        ? {}
        : {
            identity: { schemaVersion: identity.schemaVersion, json: compactJson(identity.value) },
          }),
    },
    tainted: instance.tainted,
  };
}

/** The version is not part of a state file; the first plan says which is used. */
function providerReference(text: string): ProviderReference {
  const parsed = parseProviderConfig(text);
  if (parsed === undefined) {
    throw new EngineError(
      "ENGINE_STATE_FILE_INVALID",
      `"${text}" is not a valid provider configuration`,
    );
  }
  return { source: parsed.source.toString(), version: "", alias: formatAlias(parsed) };
}

function sensitivePaths(node: JsonNode | undefined, address: string): readonly Path[] {
  if (node === undefined) return [];
  if (node.kind !== "array") throw invalidPath(address);
  return node.items.map((path) => {
    if (path.kind !== "array") throw invalidPath(address);
    return path.items.reduce<Path>((found, step) => extend(found, step, address), Path.root);
  });
}

function extend(path: Path, node: JsonNode, address: string): Path {
  const step = membersOf(node);
  const type = textOf(step.get("type"));
  const value = step.get("value");
  if (type === "get_attr" && value?.kind === "string") return path.attribute(value.value);
  const key = membersOf(value);
  const content = key.get("value");
  if (type !== "index" || content === undefined) throw invalidPath(address);
  if (content.kind === "string") return path.index(content.value);
  const position = content.kind === "literal" ? Number(content.text) : Number.NaN;
  if (!Number.isSafeInteger(position)) throw invalidPath(address);
  return path.index(position);
}

function membersOf(node: JsonNode | undefined): ReadonlyMap<string, JsonNode> {
  return new Map(node?.kind === "object" ? node.members : []);
}

function textOf(node: JsonNode | undefined): string {
  return node?.kind === "string" ? node.value : "";
}

function invalidPath(address: string): EngineError {
  return new EngineError(
    "ENGINE_STATE_FILE_INVALID",
    `${address} has a sensitive path that cannot be read`,
    { details: { addresses: [address] } },
  );
}
