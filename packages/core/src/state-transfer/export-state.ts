import { createHash } from "node:crypto";
import type { Path } from "@stackwright/cty";
import {
  type Address,
  formatModulePath,
  formatProviderConfig,
  parseAddress,
  type ResourceAddress,
} from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import { ProviderAddress } from "@stackwright/provider-source";
import type { TerraformInstance, TerraformResource, TerraformState } from "@stackwright/tfstate";
import {
  arrayNode,
  type JsonNode,
  objectNode,
  parseJsonNode,
  stringNode,
} from "@stackwright/tfstate";
import { EngineError } from "../errors.ts";
import { parseAlias } from "../providers/provider-alias.ts";
import { resourceOf } from "../state/check-state.ts";
import type { StackReference, StackSnapshot } from "../state/stack-state.ts";
import { isPlaceholder, type StateObject } from "../state/state-object.ts";
import { checkResultsNode } from "./check-results.ts";
import { withoutKeys } from "./import-state.ts";

/** What a state file says that a stack's state does not hold. */
export interface ExportOptions {
  /** @default follows from the stack: the same in every export */
  readonly lineage?: string;
  /** @default the revision of the state */
  readonly serial?: bigint;
  /** @default "1.11.4" */
  readonly terraformVersion?: string;
  /** @default those that are recorded */
  readonly checkResults?: JsonNode;
}

/**
 * A stack's state as a state file. That form cannot represent objects with an operation in progress or with an unknown
 * result: `ENGINE_SURGERY_INVALID` names them. Secrets are in the clear in such a file, as the command needs them.
 */
export function exportState(
  reference: StackReference,
  snapshot: StackSnapshot,
  options: ExportOptions = {},
): TerraformState {
  const objects = [...snapshot.objects.values()].filter((object) => !isPlaceholder(object));
  const open = objects.filter(({ phase }) => phase !== "ready" && phase !== "tainted");
  if (open.length > 0) {
    const addresses = open.map(({ address, phase }) => `${address} (${phase})`);
    throw new EngineError("ENGINE_SURGERY_INVALID", `not settled: ${addresses.join(", ")}`, {
      details: { addresses },
    });
  }
  const outputs = [...snapshot.outputs].sort(([a], [b]) => compare(a, b));
  return {
    terraformVersion: options.terraformVersion ?? "1.11.4",
    serial: options.serial ?? snapshot.head.revision,
    lineage: options.lineage ?? lineageOf(reference),
    outputs: outputs.map(([name, { type, json, sensitive }]) => ({
      name,
      value: parseJsonNode(json),
      type: parseJsonNode(type),
      sensitive,
    })),
    resources: resourcesOf(objects),
    checkResults: options.checkResults ?? checkResultsNode(snapshot.checks ?? []),
  };
}

function resourcesOf(objects: readonly StateObject[]): TerraformResource[] {
  const dependencies = new TransitiveDependencies(objects);
  const resources = new Map<
    string,
    { head: Omit<TerraformResource, "instances">; instances: TerraformInstance[] }
  >();
  for (const object of objects) {
    const address = addressOf(object);
    const module = formatModulePath(address.module);
    const provider = providerText(object.provider);
    const { mode } = object;
    const { type, name } = address;
    const key = [module, mode, type, name, provider].join("\0");
    const resource = resources.get(key) ?? {
      head: { module, mode, type, name, provider },
      instances: [],
    };
    resource.instances.push(instanceOf(object, address, dependencies.of(object)));
    resources.set(key, resource);
  }
  return [...resources.values()]
    .map(({ head, instances }) => ({ ...head, instances: instances.sort(compareInstances) }))
    .sort(
      (a, b) =>
        compare(a.module, b.module) ||
        compare(a.mode, b.mode) ||
        compare(a.type, b.type) ||
        compare(a.name, b.name),
    );
}

function instanceOf(
  object: StateObject,
  { key }: ResourceAddress,
  dependencies: readonly string[],
): TerraformInstance {
  const { value, identity } = object;
  const provider = instanceText(object.provider);
  if (value === undefined)
    throw new EngineError("ENGINE_STATE_CORRUPT", `${object.address} is empty`);
  return {
    ...(key === undefined ? {} : { indexKey: key }),
    ...(provider !== undefined && { provider }),
    tainted: object.phase === "tainted",
    deposed: object.deposed,
    schemaVersion: value.schemaVersion,
    attributes: parseJsonNode(value.json),
    sensitiveAttributes: arrayNode(value.sensitive.map(pathNode)),
    ...(identity === undefined
      ? {}
      : {
          identity: { schemaVersion: identity.schemaVersion, value: parseJsonNode(identity.json) },
        }),
    private: object.privateBytes,
    dependencies,
    createBeforeDestroy: object.createBeforeDestroy,
  };
}

function addressOf({ address }: StateObject): ResourceAddress {
  const parsed: Address | undefined = parseAddress(address).value;
  if (parsed?.kind === "resource") return parsed;
  throw new EngineError("ENGINE_STATE_CORRUPT", `"${address}" is not a valid resource address`);
}

/** The configuration of the provider, without the key of an instance. */
function providerText({ source, alias }: ProviderReference): string {
  const { key: _, ...parts } = parseAlias(alias);
  return formatProviderConfig({ ...parts, source: ProviderAddress.parse(source) });
}

/** The instance of a provider configuration with `for_each`; undefined for one without. */
function instanceText({ source, alias }: ProviderReference): string | undefined {
  const parts = parseAlias(alias);
  if (parts.key === undefined) return undefined;
  return formatProviderConfig({ ...parts, source: ProviderAddress.parse(source) });
}

function pathNode(path: Path): JsonNode {
  return arrayNode(
    path.steps.map((step) => {
      if (step.kind === "attribute") {
        return objectNode({ type: stringNode("get_attr"), value: stringNode(step.name) });
      }
      const isNumber = step.key.type.kind === "number";
      const value = isNumber
        ? { kind: "literal" as const, text: step.key.asBigFloat().text() }
        : stringNode(step.key.asString());
      const key = objectNode({ value, type: stringNode(isNumber ? "number" : "string") });
      return objectNode({ type: stringNode("index"), value: key });
    }),
  );
}

// A state file lists everything that an object depends on, directly or not, as resources of the configuration: without
// keys, those of modules included. One list per resource is enough, and computed once.

class TransitiveDependencies {
  readonly #direct = new Map<string, Set<string>>();
  readonly #all = new Map<string, readonly string[]>();

  constructor(objects: readonly StateObject[]) {
    for (const { address, dependencies } of objects) {
      const resource = resourceOf(address);
      const direct = this.#direct.get(resource) ?? new Set();
      for (const { address: target, scope } of dependencies) {
        direct.add(scope === "instance" ? resourceOf(target) : target);
      }
      this.#direct.set(resource, direct);
    }
  }

  /** Of one object: what it names itself, and what those resources depend on. */
  of({ address, dependencies }: StateObject): readonly string[] {
    const found = new Set<string>();
    for (const { address: target, scope } of dependencies) {
      const resource = scope === "instance" ? resourceOf(target) : target;
      found.add(resource);
      for (const further of this.#closure(resource)) found.add(further);
    }
    found.delete(resourceOf(address));
    return [...new Set([...found].map(withoutKeys))].sort(compare);
  }

  #closure(resource: string): readonly string[] {
    const known = this.#all.get(resource);
    if (known !== undefined) return known;
    const seen = new Set<string>();
    const pending = [resource];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const target of this.#direct.get(next) ?? []) {
        if (!seen.has(target)) pending.push(target);
        seen.add(target);
      }
    }
    const all = [...seen];
    this.#all.set(resource, all);
    return all;
  }
}

function compareInstances(a: TerraformInstance, b: TerraformInstance): number {
  return compareKeys(a.indexKey, b.indexKey) || compare(a.deposed, b.deposed);
}

function compareKeys(a: number | string | undefined, b: number | string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  return typeof b === "number" ? 1 : compare(a, b);
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A UUID that follows from the stack, so that every export of it continues the same line. */
function lineageOf({ account, project, stack }: StackReference): string {
  const digest = createHash("sha256")
    .update(["lineage", account, project, stack].join("\0"))
    .digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.subarray(0, 16).toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
