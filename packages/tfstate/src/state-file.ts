import { TfstateError } from "./errors.ts";
import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  parseJsonNode,
  prettyJson,
  stringNode,
} from "./json-node.ts";

/** A state file of Terraform, version 4, as it is written: nothing is interpreted, nothing is lost that it may hold. */
export interface TerraformState {
  /** Version of the command that wrote it. */
  readonly terraformVersion: string;
  readonly serial: bigint;
  readonly lineage: string;
  readonly outputs: readonly TerraformOutput[];
  readonly resources: readonly TerraformResource[];
  /** Results of checks, as they were written. */
  readonly checkResults: JsonNode;
}

interface TerraformOutput {
  readonly name: string;
  readonly value: JsonNode;
  readonly type: JsonNode;
  readonly sensitive: boolean;
}

export interface TerraformResource {
  /** `module.a["k"]`; empty for the root module. */
  readonly module: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly name: string;
  /** `module.a.provider["registry.terraform.io/hashicorp/aws"].west`; not written where instances have providers of their own. */
  readonly provider: string;
  readonly instances: readonly TerraformInstance[];
}

export interface TerraformInstance {
  readonly indexKey?: number | string;
  /** The instance of a provider configuration with `for_each` (OpenTofu): `provider["..."].by_region["eu"]`. */
  readonly provider?: string;
  readonly tainted: boolean;
  /** Empty for the current object. */
  readonly deposed: string;
  readonly schemaVersion: number;
  readonly attributes: JsonNode;
  /** The list of paths as it is written; absent in files of old releases. */
  readonly sensitiveAttributes?: JsonNode;
  readonly identity?: { readonly schemaVersion: number; readonly value: JsonNode };
  readonly private: Uint8Array;
  readonly dependencies: readonly string[];
  readonly createBeforeDestroy: boolean;
}

/**
 * Reads a state file. Members that this format does not have are refused, as they could not be written again.
 * `TFSTATE_FILE_INVALID`. Source: state files of Terraform 1.11.4 and what it accepts.
 */
export function parseStateFile(text: string): TerraformState {
  const file = new Members(parseJsonNode(text), "the state");
  const version = file.number("version");
  if (version !== 4) {
    throw invalid(
      `the state has version ${version}; let the command upgrade it to version 4 first`,
    );
  }
  const state: TerraformState = {
    terraformVersion: file.string("terraform_version"),
    serial: BigInt(file.number("serial")),
    lineage: file.string("lineage"),
    outputs: file.members("outputs").map(([name, node]) => parseOutput(name, node)),
    resources: file.items("resources").map(parseResource),
    checkResults: file.take("check_results") ?? literalNode(null),
  };
  file.end();
  requireDistinct(state.resources);
  return state;
}

/** The text of a state file, byte for byte as the command writes it. */
export function formatStateFile(state: TerraformState): string {
  const outputs = state.outputs.map(
    ({ name, value, type, sensitive }) =>
      [
        name,
        objectNode({ value, type, sensitive: sensitive ? literalNode(true) : undefined }),
      ] as const,
  );
  const file = objectNode({
    version: literalNode(4),
    terraform_version: stringNode(state.terraformVersion),
    serial: literalNode(state.serial),
    lineage: stringNode(state.lineage),
    outputs: { kind: "object", members: outputs },
    resources: arrayNode(state.resources.map(resourceNode)),
    check_results: state.checkResults,
  });
  return `${prettyJson(file)}\n`;
}

/** One object twice: whichever is read last would win, and the other one would be forgotten. */
function requireDistinct(resources: readonly TerraformResource[]): void {
  const seen = new Set<string>();
  for (const { module, mode, type, name, instances } of resources) {
    for (const { indexKey, deposed } of instances) {
      const key = JSON.stringify([module, mode, type, name, indexKey ?? null, deposed]);
      if (seen.has(key)) throw invalid(`${type}.${name} has an instance twice: ${key}`);
      seen.add(key);
    }
  }
}

function parseOutput(name: string, node: JsonNode): TerraformOutput {
  const output = new Members(node, `the output ${name}`);
  const parsed = {
    name,
    value: output.need("value"),
    type: output.need("type"),
    sensitive: output.flag("sensitive"),
  };
  output.end();
  return parsed;
}

function parseResource(node: JsonNode): TerraformResource {
  const resource = new Members(node, "a resource");
  const mode = resource.string("mode");
  if (mode !== "managed" && mode !== "data") throw invalid(`a resource has the mode "${mode}"`);
  const module = resource.take("module");
  const parsed: TerraformResource = {
    module: module === undefined ? "" : stringOf(module, "module"),
    mode,
    type: resource.string("type"),
    name: resource.string("name"),
    ...parseProviders(resource),
  };
  // Written by old releases, and implied by the keys of the instances.
  resource.take("each");
  resource.end();
  return parsed;
}

/** Either the resource names its provider configuration, or each of its instances the instance of one. */
function parseProviders(resource: Members): Pick<TerraformResource, "provider" | "instances"> {
  const written = resource.take("provider");
  const instances = resource.items("instances").map(parseInstance);
  const own = new Set(instances.map(({ provider }) => provider));
  if (written !== undefined) {
    if (instances.some(({ provider }) => provider !== undefined))
      throw invalid("a resource and its instances both have a provider");
    return { provider: stringOf(written, "provider"), instances };
  }
  const [first] = own;
  if (first === undefined || own.has(undefined))
    throw invalid("a resource has no provider, and not all of its instances have one");
  const configurations = new Set(instances.map(({ provider = "" }) => withoutKey(provider)));
  if (configurations.size > 1)
    throw invalid("the instances of a resource have different provider configurations");
  return { provider: withoutKey(first), instances };
}

/** The configuration that an instance of a provider belongs to. */
function withoutKey(provider: string): string {
  return provider.replace(/(\.[\w-]+)\["(?:[^"\\]|\\.)*"\]$/, "$1");
}

function parseInstance(node: JsonNode): TerraformInstance {
  const instance = new Members(node, "an instance");
  if (instance.take("attributes_flat") !== undefined) {
    throw invalid(
      "a resource has attributes of a release before 0.12; refresh it with the command first",
    );
  }
  const key = instance.take("index_key");
  const provider = instance.take("provider");
  const status = instance.take("status");
  const sensitive = instance.take("sensitive_attributes");
  const identity = instance.take("identity");
  const identityVersion = instance.take("identity_schema_version");
  const secret = instance.take("private");
  const deposed = instance.take("deposed");
  const parsed: TerraformInstance = {
    ...(key === undefined
      ? {}
      : { indexKey: key.kind === "string" ? key.value : integerOf(key, "index_key") }),
    ...(provider === undefined ? {} : { provider: stringOf(provider, "provider") }),
    tainted: status !== undefined && stringOf(status, "status") === "tainted",
    deposed: deposed === undefined ? "" : stringOf(deposed, "deposed"),
    schemaVersion: instance.number("schema_version"),
    attributes: instance.need("attributes"),
    ...(sensitive === undefined ? {} : { sensitiveAttributes: sensitive }),
    ...(identity === undefined || isNull(identity)
      ? {}
      : {
          identity: {
            schemaVersion:
              identityVersion === undefined
                ? 0
                : integerOf(identityVersion, "identity_schema_version"),
            value: identity,
          },
        }),
    private:
      secret === undefined ? new Uint8Array() : Buffer.from(stringOf(secret, "private"), "base64"),
    dependencies: instance.items("dependencies").map((item) => stringOf(item, "dependencies")),
    createBeforeDestroy: instance.flag("create_before_destroy"),
  };
  // What old releases recorded instead of `dependencies`, in a form that current releases do not read.
  instance.take("depends_on");
  instance.end();
  return parsed;
}

function resourceNode(resource: TerraformResource): JsonNode {
  const own = resource.instances.some(({ provider }) => provider !== undefined);
  return objectNode({
    module: resource.module === "" ? undefined : stringNode(resource.module),
    mode: stringNode(resource.mode),
    type: stringNode(resource.type),
    name: stringNode(resource.name),
    provider: own ? undefined : stringNode(resource.provider),
    instances: arrayNode(
      resource.instances.map((instance) =>
        instanceNode(
          own ? { ...instance, provider: instance.provider ?? resource.provider } : instance,
        ),
      ),
    ),
  });
}

function instanceNode(instance: TerraformInstance): JsonNode {
  const { indexKey, identity, dependencies } = instance;
  return objectNode({
    index_key: indexKey === undefined ? undefined : keyNode(indexKey),
    status: instance.tainted ? stringNode("tainted") : undefined,
    deposed: instance.deposed === "" ? undefined : stringNode(instance.deposed),
    provider: instance.provider === undefined ? undefined : stringNode(instance.provider),
    schema_version: literalNode(instance.schemaVersion),
    attributes: instance.attributes,
    sensitive_attributes: instance.sensitiveAttributes,
    identity_schema_version: identity && literalNode(identity.schemaVersion),
    identity: identity?.value,
    private:
      instance.private.length === 0
        ? undefined
        : stringNode(Buffer.from(instance.private).toString("base64")),
    dependencies: dependencies.length === 0 ? undefined : arrayNode(dependencies.map(stringNode)),
    create_before_destroy: instance.createBeforeDestroy ? literalNode(true) : undefined,
  });
}

function keyNode(key: number | string): JsonNode {
  return typeof key === "number" ? literalNode(key) : stringNode(key);
}

/** Members of an object that are taken one by one, so that what is left over is noticed. */
class Members {
  readonly #members: Map<string, JsonNode>;
  readonly #what: string;

  constructor(node: JsonNode, what: string) {
    if (node.kind !== "object") throw invalid(`${what} is not an object`);
    this.#members = new Map(node.members);
    this.#what = what;
    if (this.#members.size < node.members.length) throw invalid(`${what} has a member twice`);
  }

  take(name: string): JsonNode | undefined {
    const node = this.#members.get(name);
    this.#members.delete(name);
    return node;
  }

  need(name: string): JsonNode {
    const node = this.take(name);
    if (node === undefined) throw invalid(`${this.#what} has no "${name}"`);
    return node;
  }

  string(name: string): string {
    return stringOf(this.need(name), name);
  }

  number(name: string): number {
    return integerOf(this.need(name), name);
  }

  flag(name: string): boolean {
    const node = this.take(name);
    return node?.kind === "literal" && node.text === "true";
  }

  items(name: string): readonly JsonNode[] {
    const node = this.take(name);
    if (node === undefined || isNull(node)) return [];
    if (node.kind !== "array") throw invalid(`"${name}" is not a list`);
    return node.items;
  }

  members(name: string): readonly (readonly [string, JsonNode])[] {
    const node = this.take(name);
    if (node === undefined || isNull(node)) return [];
    if (node.kind !== "object") throw invalid(`"${name}" is not an object`);
    return node.members;
  }

  end(): void {
    const [name] = this.#members.keys();
    if (name !== undefined) throw invalid(`${this.#what} has "${name}", which is not known`);
  }
}

function isNull(node: JsonNode): boolean {
  return node.kind === "literal" && node.text === "null";
}

function stringOf(node: JsonNode, name: string): string {
  if (node.kind === "string") return node.value;
  throw invalid(`"${name}" is not a string`);
}

function integerOf(node: JsonNode, name: string): number {
  const number = node.kind === "literal" ? Number(node.text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw invalid(`"${name}" is not a non-negative integer`);
}

function invalid(message: string): TfstateError {
  return new TfstateError("TFSTATE_FILE_INVALID", message);
}
