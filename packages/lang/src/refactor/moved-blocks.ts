import { type Address, formatAddress } from "../address/address.ts";
import { parseAddress, traversalAddress } from "../address/parse-address.ts";
import { resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ModuleCall, MovedConfig, ResourceConfig } from "../config/module-config.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import {
  addressEnd,
  endName,
  endsOverlap,
  finalKey,
  type MoveEnd,
  type MoveStatement,
  moveEnd,
} from "./move-pattern.ts";
import { orderMoves } from "./order-moves.ts";

/**
 * The moves that the `moved` blocks of a tree declare, in the order in which they are to be
 * applied. Checked against each other (no two from or to one place, no circles) and against the
 * configuration (what moves away is not declared any more).
 */
export function collectMoves(root: ModuleNode, diagnostics: Diagnostic[]): MoveStatement[] {
  const statements: MoveStatement[] = [];
  const prefixes = new Map<ModuleNode, string>();
  const visit = (module: ModuleNode, prefix: string): void => {
    prefixes.set(module, prefix);
    for (const moved of module.config.moved) {
      const statement = readMove(module, moved, diagnostics);
      if (statement !== undefined && isMeaningful(statement, diagnostics)) {
        statements.push(statement);
      }
    }
    for (const [name, child] of module.children) {
      const { count, forEach } = module.config.modules.get(name) ?? {};
      const once = count === undefined && forEach === undefined;
      visit(child, `${prefix}module.${name}${once ? "" : "[*]"}.`);
    }
  };
  visit(root, "");
  checkAmbiguity(statements, prefixes, diagnostics);
  return orderMoves(statements, diagnostics);
}

function fail(
  diagnostics: Diagnostic[],
  summary: string,
  detail: string,
  { range }: Pick<MoveStatement, "range">,
): undefined {
  diagnostics.push({
    severity: "error",
    code: "LANG_MOVED",
    summary,
    detail,
    ...(range !== undefined && { subject: range }),
  });
}

function readMove(
  module: ModuleNode,
  moved: MovedConfig,
  diagnostics: Diagnostic[],
): MoveStatement | undefined {
  const from = traversalAddress(moved.from, diagnostics);
  const to = traversalAddress(moved.to, diagnostics);
  if (from === undefined || to === undefined) return undefined;
  if (from.kind !== to.kind) {
    const detail = "Both addresses must be those of resources, or both those of modules.";
    return fail(diagnostics, 'Invalid "moved" addresses', detail, moved);
  }
  if (from.kind === "resource" && to.kind === "resource" && from.mode !== to.mode) {
    const detail =
      "A managed resource can become another one, but no data source, and the other way round.";
    return fail(diagnostics, 'Invalid "moved" addresses', detail, moved);
  }
  const whole = finalKey(from) === undefined && finalKey(to) === undefined;
  return { module, from, to, whole, implied: false, range: moved.range };
}

function isMeaningful(statement: MoveStatement, diagnostics: Diagnostic[]): boolean {
  const { module, from, to } = statement;
  const text = formatAddress(from);
  const place = { range: statement.range };
  if (text === formatAddress(to)) {
    const detail = `The source and the destination are both ${text}, so this block has no effect.`;
    fail(diagnostics, "Redundant move statement", detail, place);
    return false;
  }
  for (const address of [from, to]) {
    const outside = foreignModule(module, address);
    if (outside === undefined) continue;
    const detail = `The module "${outside}" comes from another package, whose insides are its own. Only moves of the module as a whole are possible.`;
    fail(diagnostics, "Cross-package move statement", detail, place);
    return false;
  }
  const declared = declaredAt(statement);
  if (declared === undefined) return true;
  const { filename, start } = declared.source.locate(declared.start, declared.end);
  const detail = `This moves ${text} away, but it is still declared, at ${filename} line ${start.line}.`;
  fail(diagnostics, "Moved object still exists", detail, place);
  return false;
}

/** Where what moves away is still declared, as far as that can be said without instances. */
function declaredAt({ module, from, whole }: MoveStatement): MoveStatement["range"] {
  const declaration = findDeclaration(module, from);
  if (declaration === undefined || !isSingle(module, from)) return undefined;
  const { count, forEach, range } = declaration;
  const repeated = count !== undefined || forEach !== undefined;
  if (whole) return range;
  return finalKey(from) === undefined && !repeated ? range : undefined;
}

/** Whether the modules on the way to an address exist once, and are meant so. */
function isSingle(module: ModuleNode, address: Address): boolean {
  const calls = address.kind === "module" ? address.module.slice(0, -1) : address.module;
  let place: ModuleNode | undefined = module;
  for (const { name, key } of calls) {
    const call: ModuleCall | undefined = place?.config.modules.get(name);
    const repeated = call?.count !== undefined || call?.forEach !== undefined;
    if (key !== undefined || repeated) return false;
    place = place?.children.get(name);
  }
  return true;
}

/** The block that declares what an address is about, in a module or one below it. */
export function findDeclaration(
  module: ModuleNode,
  address: Address,
): Pick<ResourceConfig, "count" | "forEach" | "range"> | undefined {
  const calls = address.kind === "module" ? address.module.slice(0, -1) : address.module;
  let place: ModuleNode | undefined = module;
  for (const { name } of calls) place = place?.children.get(name);
  if (address.kind === "resource") return place?.config.resources.get(resourceAddress(address));
  return place?.config.modules.get(address.module.at(-1)?.name ?? "");
}

/** The name of the first module of another package on the way to an address. */
function foreignModule(module: ModuleNode, address: Address): string | undefined {
  const calls = address.kind === "module" ? address.module.slice(0, -1) : address.module;
  let place: ModuleNode | undefined = module;
  for (const { name } of calls) {
    place = place?.children.get(name);
    if (place !== undefined && !isSamePackage(place, module)) return name;
  }
  return undefined;
}

function checkAmbiguity(
  statements: readonly MoveStatement[],
  prefixes: ReadonlyMap<ModuleNode, string>,
  diagnostics: Diagnostic[],
): void {
  const text = ({ module, whole }: MoveStatement, address: Address): string =>
    `${prefixes.get(module) ?? ""}${formatAddress(address)}${whole ? "[*]" : ""}`;
  const bySource = new Map<string, MoveStatement>();
  const byTarget = new Map<string, MoveStatement>();
  for (const statement of statements) {
    const from = text(statement, statement.from);
    const to = text(statement, statement.to);
    const sameFrom = bySource.get(from);
    const sameTo = byTarget.get(to);
    if (sameFrom !== undefined && text(sameFrom, sameFrom.to) !== to) {
      const detail = `${from} is moved to ${to} here, but to ${text(sameFrom, sameFrom.to)}${lineOf(sameFrom)}.`;
      fail(diagnostics, "Ambiguous move statements", detail, statement);
    } else if (sameTo !== undefined && text(sameTo, sameTo.from) !== from) {
      const detail = `${from} is moved to ${to} here, where ${text(sameTo, sameTo.from)} is moved to as well${lineOf(sameTo)}.`;
      fail(diagnostics, "Ambiguous move statements", detail, statement);
    }
    bySource.set(from, statement);
    byTarget.set(to, statement);
  }
}

function lineOf({ range }: MoveStatement): string {
  if (range === undefined) return "";
  const { filename, start } = range.source.locate(range.start, range.end);
  return `, at ${filename} line ${start.line}`;
}

/**
 * Checks moves against the instances that there are: what moves away must not
 * exist any more. For when `count` and `for_each` have been evaluated. `instances` are addresses of
 * all instances of resources and modules, from the root module on, also as text.
 */
export function checkMovedInstances(
  statements: readonly MoveStatement[],
  instances: Iterable<Address | string>,
  diagnostics: Diagnostic[],
): void {
  const written = statements.filter(({ implied }) => !implied);
  if (written.length === 0) return;
  const byName = new Map<string, { readonly end: MoveEnd; readonly address: Address }[]>();
  for (const instance of instances) {
    const address = typeof instance === "string" ? parseAddress(instance).value : instance;
    if (address === undefined) continue;
    const end = addressEnd(address);
    const name = endName(end);
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [{ end, address }]);
    else known.push({ end, address });
  }
  for (const statement of written) {
    // Conflicts that are independent of instances have been reported before.
    if (declaredAt(statement) !== undefined) continue;
    const from = moveEnd(statement, statement.from);
    const left = byName.get(endName(from))?.find(({ end }) => endsOverlap(from, end));
    if (left === undefined) continue;
    const detail = `This moves ${formatAddress(statement.from)} away, but there still is an instance ${formatAddress(left.address)}.`;
    fail(diagnostics, "Moved object still exists", detail, statement);
  }
}

function isSamePackage(a: ModuleNode, b: ModuleNode): boolean {
  return a.files === b.files && a.packageFolder === b.packageFolder;
}
