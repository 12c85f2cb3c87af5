import { compareStrings } from "@stackwright/cty";
import type { ResourceMode } from "../config/module-config.ts";
import type { InstanceKey } from "../config/reference.ts";
import { quoteLiteral } from "../syntax/quote.ts";

/** One call on the way from the root module to a module, with the instance where one is meant. */
export interface ModuleStep {
  readonly name: string;
  readonly key: InstanceKey | undefined;
}

/** The way from the root module to a module; empty for the root module. */
export type ModulePath = readonly ModuleStep[];

export interface ModuleAddress {
  readonly kind: "module";
  readonly module: ModulePath;
}

export interface ResourceAddress {
  readonly kind: "resource";
  readonly module: ModulePath;
  readonly mode: ResourceMode;
  readonly type: string;
  readonly name: string;
  readonly key: InstanceKey | undefined;
}

/**
 * What can be addressed as a whole: modules and resources. Without a key, here or in a step, either
 * the one instance of what is not repeated is meant, or all instances; who uses an address decides.
 */
export type Address = ModuleAddress | ResourceAddress;

/** The address of a resource. */
export function resourceAt(
  module: ModulePath,
  { mode, type, name }: Pick<ResourceAddress, "mode" | "type" | "name">,
  key?: InstanceKey,
): ResourceAddress {
  return { kind: "resource", module, mode, type, name, key };
}

/** `[0]`, `["key"]`, or nothing. */
export function formatKey(key: InstanceKey | undefined): string {
  if (key === undefined) return "";
  return typeof key === "number" ? `[${key}]` : `["${quoteLiteral(key)}"]`;
}

/** `module.a["k"].module.b`; nothing for the root module. */
export function formatModulePath(path: ModulePath): string {
  return path.map(({ name, key }) => `module.${name}${formatKey(key)}`).join(".");
}

/** Types whose resources would read as something else without a word in front. */
const AMBIGUOUS: ReadonlySet<string> = new Set(["module", "data", "ephemeral", "resource"]);

/**
 * The text of an address, as commands show and take it: `module.a["k"].data.t.n[0]`. Equal addresses
 * have equal texts and different ones different texts.
 */
export function formatAddress(address: Address): string {
  const module = formatModulePath(address.module);
  if (address.kind === "module") return module;
  const { mode, type, name, key } = address;
  const prefix = mode === "managed" ? (AMBIGUOUS.has(type) ? "resource." : "") : `${mode}.`;
  return `${module === "" ? "" : `${module}.`}${prefix}${type}.${name}${formatKey(key)}`;
}

/** The address without any keys: of the configuration that all instances come from. */
export function configAddress<A extends Address>(address: A): A {
  const module = address.module.map(({ name }) => ({ name, key: undefined }));
  return address.kind === "module"
    ? { ...address, module }
    : { ...address, module, key: undefined };
}

function compareKeys(a: InstanceKey | undefined, b: InstanceKey | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  if (typeof a === "number") return typeof b === "number" ? a - b : -1;
  return typeof b === "number" ? 1 : compareStrings(a, b);
}

/** Orders paths of modules: shorter ones first, then by name and key, step by step. */
export function compareModulePaths(a: ModulePath, b: ModulePath): number {
  if (a.length !== b.length) return a.length - b.length;
  for (const [at, step] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareStrings(step.name, other.name) || compareKeys(step.key, other.key);
    if (order !== 0) return order;
  }
  return 0;
}

const MODES: readonly ResourceMode[] = ["data", "ephemeral", "managed"];

/**
 * Orders addresses for display, as the reference command does: outer modules first, in a module the
 * module itself, then data sources, ephemeral and managed resources, by type and name in code-point
 * order; without a key, then by number, then by key.
 */
export function compareAddresses(a: Address, b: Address): number {
  const order = compareModulePaths(a.module, b.module);
  if (order !== 0) return order;
  if (a.kind === "module") return b.kind === "module" ? 0 : -1;
  if (b.kind === "module") return 1;
  return (
    MODES.indexOf(a.mode) - MODES.indexOf(b.mode) ||
    compareStrings(a.type, b.type) ||
    compareStrings(a.name, b.name) ||
    compareKeys(a.key, b.key)
  );
}

/** Whether two addresses are the same, keys included. */
export function equalAddresses(a: Address, b: Address): boolean {
  return compareAddresses(a, b) === 0;
}

function containsPath(outer: ModulePath, inner: ModulePath): boolean {
  return (
    outer.length <= inner.length &&
    outer.every(({ name, key }, at) => {
      const step = inner[at];
      return step?.name === name && (key === undefined || key === step.key);
    })
  );
}

/**
 * Whether a target covers an address: it is the same, an instance of it, or in the module. A key
 * that is left out stands for any.
 */
export function containsAddress(target: Address, address: Address): boolean {
  if (!containsPath(target.module, address.module)) return false;
  if (target.kind === "module") return true;
  if (address.kind === "module" || address.module.length !== target.module.length) return false;
  const { mode, type, name, key } = target;
  return (
    mode === address.mode &&
    type === address.type &&
    name === address.name &&
    (key === undefined || key === address.key)
  );
}
