import {
  type Address,
  formatAddress,
  type ModulePath,
  type ModuleStep,
  type ResourceAddress,
} from "../address/address.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { SourceRange } from "../syntax/source-file.ts";

/** A move of what is recorded under one address to another, which the configuration has now. */
export interface MoveStatement {
  /** The module that the addresses are relative to; the move counts in all instances of it. */
  readonly module: ModuleNode;
  readonly from: Address;
  readonly to: Address;
  /**
   * Neither side has a key: all instances move and keep their keys. Otherwise exactly one does, and
   * no key means the instance without one.
   */
  readonly whole: boolean;
  /** Not written, but follows from a `count` that came or went. */
  readonly implied: boolean;
  readonly range: SourceRange | undefined;
}

/** The key at the end of an address: of the instance itself, or of the last module. */
export function finalKey(address: Address): ModuleStep["key"] {
  return address.kind === "resource" ? address.key : address.module.at(-1)?.key;
}

function sameStep(a: ModuleStep | undefined, b: ModuleStep | undefined): boolean {
  return a?.name === b?.name && a?.key === b?.key;
}

/**
 * Where a move takes an address, or undefined where the move is not about it. Modules on the way to
 * what moves are meant exactly as written: without a key is the instance without one.
 */
export function moveAddress(
  { module, from, to, whole }: MoveStatement,
  address: ResourceAddress,
): ResourceAddress | undefined {
  const { path } = module;
  const prefix = address.module.slice(0, path.length);
  if (prefix.length < path.length || !path.every((name, at) => prefix[at]?.name === name)) {
    return undefined;
  }
  const rest = address.module.slice(path.length);
  if (from.kind === "module") return to.kind === "module" ? moveModule() : undefined;
  if (to.kind === "module" || rest.length !== from.module.length) return undefined;
  const same =
    from.module.every((step, at) => sameStep(step, rest[at])) &&
    from.mode === address.mode &&
    from.type === address.type &&
    from.name === address.name &&
    (whole || from.key === address.key);
  if (!same) return undefined;
  const key = whole ? address.key : to.key;
  return { ...to, module: [...prefix, ...to.module], key };

  function moveModule(): ResourceAddress | undefined {
    const last = from.module.length - 1;
    const matches = from.module.every((step, at) =>
      at === last && whole ? step.name === rest[at]?.name : sameStep(step, rest[at]),
    );
    if (!matches) return undefined;
    const steps: ModulePath = to.module.map((step, at) =>
      at === to.module.length - 1 && whole ? { name: step.name, key: rest[last]?.key } : step,
    );
    return { ...address, module: [...prefix, ...steps, ...rest.slice(last + 1)] };
  }
}

/** One end of a move from the root module on; the keys of declaring modules are open. */
export interface MoveEnd {
  readonly steps: readonly { readonly name: string; readonly key: ModuleStep["key"] | null }[];
  /** `mode.type.name` of a resource; undefined for a module. */
  readonly resource: string | undefined;
  readonly key: ModuleStep["key"] | null;
}

/** In place of a key: any. */
const ANY = null;

/** An end of a move for comparison with ends of other moves. */
export function moveEnd({ module, whole }: MoveStatement, address: Address): MoveEnd {
  const steps: MoveEnd["steps"] = [
    ...module.path.map((name) => ({ name, key: ANY })),
    ...address.module.map((step, at) => ({
      name: step.name,
      key: whole && address.kind === "module" && at === address.module.length - 1 ? ANY : step.key,
    })),
  ];
  if (address.kind === "module") return { steps, resource: undefined, key: ANY };
  const { mode, type, name, key } = address;
  return { steps, resource: `${mode}.${type}.${name}`, key: whole ? ANY : key };
}

/** An address from the root module on, for comparison with ends of moves. */
export function addressEnd(address: Address): MoveEnd {
  const { module: steps } = address;
  if (address.kind === "module") return { steps, resource: undefined, key: ANY };
  const { mode, type, name, key } = address;
  return { steps, resource: `${mode}.${type}.${name}`, key };
}

type Key = MoveEnd["key"];

function compatible(a: Key, b: Key): boolean {
  return a === ANY || b === ANY || a === b;
}

/** Whether two ends may mean the same objects. */
export function endsOverlap(a: MoveEnd, b: MoveEnd): boolean {
  return (
    a.resource === b.resource &&
    a.steps.length === b.steps.length &&
    compatible(a.key, b.key) &&
    a.steps.every(({ name, key }, at) => {
      const other = b.steps[at];
      return other?.name === name && compatible(key, other.key);
    })
  );
}

/** Whether the first may be inside of the second, which is a module. */
export function endWithin(inner: MoveEnd, outer: MoveEnd): boolean {
  if (outer.resource !== undefined) return false;
  const deeper = inner.steps.length - outer.steps.length;
  if (deeper < 0 || (deeper === 0 && inner.resource === undefined)) return false;
  return outer.steps.every(({ name, key }, at) => {
    const other = inner.steps[at];
    return other?.name === name && compatible(key, other.key);
  });
}

/** The names of an end without any keys: ends that overlap have the same. */
export function endName({ steps, resource }: MoveEnd): string {
  return `${steps.map(({ name }) => name).join(".")}:${resource ?? ""}`;
}

/** An address of a statement as text, from the root module on. */
export function moveText({ module, whole }: MoveStatement, address: Address): string {
  const prefix = module.path.map((name) => `module.${name}[*].`).join("");
  return `${prefix}${formatAddress(address)}${whole ? "[*]" : ""}`;
}
