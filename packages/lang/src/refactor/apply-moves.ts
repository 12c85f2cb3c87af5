import {
  type Address,
  configAddress,
  formatAddress,
  formatModulePath,
  type ResourceAddress,
} from "../address/address.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import { finalKey, type MoveStatement, moveAddress } from "./move-pattern.ts";
import { orderMoves } from "./order-moves.ts";

/** What moves mean for what is recorded. */
export interface MoveResult {
  /** Every address that changes, with all moves that it went through. */
  readonly moved: readonly {
    readonly from: ResourceAddress;
    readonly to: ResourceAddress;
    readonly statements: readonly MoveStatement[];
  }[];
  /** What stays where it is because something else is recorded at its destination. */
  readonly blocked: readonly {
    readonly from: ResourceAddress;
    readonly to: ResourceAddress;
    readonly statement: MoveStatement;
  }[];
}

interface Recorded {
  readonly origin: ResourceAddress;
  at: ResourceAddress;
  readonly statements: MoveStatement[];
}

/**
 * Applies moves, in their order, to the addresses of recorded instances. A move whose destination
 * is taken does not happen: for a whole resource or module where anything is recorded there, for an
 * instance where that instance is. The caller that applies the result changes each address once.
 */
export function applyMoves(
  statements: readonly MoveStatement[],
  addresses: Iterable<ResourceAddress>,
): MoveResult {
  const recorded = [...addresses].map((at): Recorded => ({ origin: at, at, statements: [] }));
  const index = new RecordIndex();
  for (const entry of recorded) index.add(entry);
  const blocked: { from: ResourceAddress; to: ResourceAddress; statement: MoveStatement }[] = [];
  for (const statement of statements) {
    const candidates = index.at(statement, statement.from);
    const matching = candidates.flatMap((entry) => {
      const to = moveAddress(statement, entry.at);
      return to === undefined ? [] : [{ entry, to }];
    });
    const taken = takenContainers(statement, matching, index);
    for (const { entry, to } of matching) {
      if (taken.has(container(statement, to))) {
        blocked.push({ from: entry.at, to, statement });
        continue;
      }
      index.delete(entry);
      entry.at = to;
      entry.statements.push(statement);
      index.add(entry);
    }
  }
  const moved = recorded
    .filter(({ statements: passed }) => passed.length > 0)
    .map(({ origin, at, statements: passed }) => ({ from: origin, to: at, statements: passed }));
  return { moved, blocked };
}

function nameOf(address: ResourceAddress): string {
  return formatAddress(configAddress(address));
}

/**
 * What is recorded, by the names of its resource and of the modules around it, without keys, and by that of its instance, with
 * its own key only: thousands of moves of instances are searched one by one.
 */
class RecordIndex {
  readonly #byName = new Map<string, Set<Recorded>>();

  add(entry: Recorded): void {
    for (const name of indexNames(entry.at)) {
      const known = this.#byName.get(name);
      if (known === undefined) this.#byName.set(name, new Set([entry]));
      else known.add(entry);
    }
  }

  delete(entry: Recorded): void {
    for (const name of indexNames(entry.at)) this.#byName.get(name)?.delete(entry);
  }

  /** What an end of a move may be about, and maybe more. */
  at({ module, whole }: MoveStatement, end: Address): readonly Recorded[] {
    const prefix = module.path.map((name) => ({ name, key: undefined }));
    const full = { ...end, module: [...prefix, ...end.module] };
    const name =
      full.kind === "resource" && !whole ? instanceName(full) : formatAddress(configAddress(full));
    return [...(this.#byName.get(name) ?? [])];
  }
}

/** The address of a resource and those of all modules around it. */
function indexNames(address: ResourceAddress): string[] {
  const { module } = configAddress(address);
  const modules = module.map((_, depth) => formatModulePath(module.slice(0, depth + 1)));
  return [...new Set([nameOf(address), instanceName(address)]), ...modules];
}

/** The address of an instance without the keys of modules. */
function instanceName(address: ResourceAddress): string {
  return formatAddress({ ...address, module: configAddress(address).module });
}

/** What must be free at the destination: the module, the whole resource, or the instance. */
function container({ module, to, whole }: MoveStatement, address: ResourceAddress): string {
  if (to.kind === "module") {
    return formatModulePath(address.module.slice(0, module.path.length + to.module.length));
  }
  return formatAddress(whole ? { ...address, key: undefined } : address);
}

/** The destinations of a move at which something else is recorded. */
function takenContainers(
  statement: MoveStatement,
  matching: readonly { readonly to: ResourceAddress }[],
  index: RecordIndex,
): Set<string> {
  const taken = new Set<string>();
  if (matching.length === 0) return taken;
  const wanted = new Set(matching.map(({ to }) => container(statement, to)));
  for (const entry of index.at(statement, statement.to)) {
    const at = container(statement, entry.at);
    if (wanted.has(at)) taken.add(at);
  }
  return taken;
}

/**
 * Implied moves, without a block: where a resource got a `count` what was recorded without a key becomes
 * the first instance, where it lost it the first one becomes the only one. None for resources that
 * written moves are about. Returns written and implied moves together in the order of application.
 */
export function withImpliedMoves(
  root: ModuleNode,
  written: readonly MoveStatement[],
  addresses: Iterable<ResourceAddress>,
): MoveStatement[] {
  const mentioned = new Set<string>();
  for (const { module, from, to } of written) {
    const prefix = module.path.map((name) => ({ name, key: undefined }));
    for (const end of [from, to]) {
      if (end.kind === "resource")
        mentioned.add(nameOf({ ...end, module: [...prefix, ...end.module] }));
    }
  }
  const implied = new Map<string, MoveStatement>();
  for (const address of addresses) {
    const name = nameOf(address);
    if (implied.has(name) || mentioned.has(name)) continue;
    const statement = impliedMove(root, address);
    if (statement !== undefined) implied.set(name, statement);
  }
  return implied.size === 0 ? [...written] : orderMoves([...written, ...implied.values()], []);
}

function impliedMove(root: ModuleNode, address: ResourceAddress): MoveStatement | undefined {
  let module: ModuleNode | undefined = root;
  for (const { name } of address.module) module = module?.children.get(name);
  const resource = module?.config.resources.get(resourceAddress(address));
  if (module === undefined || resource === undefined) return undefined;
  const key = finalKey(address);
  const gained = key === undefined && resource.count !== undefined;
  const lost = key === 0 && resource.count === undefined && resource.forEach === undefined;
  if (!gained && !lost) return undefined;
  const from = { ...address, module: [] };
  const to = { ...from, key: gained ? 0 : undefined };
  return { module, from, to, whole: false, implied: true, range: resource.range };
}
