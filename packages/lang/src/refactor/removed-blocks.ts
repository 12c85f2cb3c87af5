import {
  type Address,
  configAddress,
  containsAddress,
  equalAddresses,
  formatAddress,
} from "../address/address.ts";
import { traversalAddress } from "../address/parse-address.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { RemovedConfig } from "../config/module-config.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import type { MoveStatement } from "./move-pattern.ts";
import { findDeclaration } from "./moved-blocks.ts";

/** What is recorded under an address, or in a module, and not declared any more on purpose. */
export interface RemovedStatement {
  /** From the root module on, without keys. */
  readonly from: Address;
  /** Whether the real objects are destroyed; otherwise they are only forgotten. */
  readonly destroy: boolean;
  /** The module of the block. */
  readonly module: ModuleNode;
  /** What runs before an object of it is destroyed. */
  readonly provisioners: RemovedConfig["provisioners"];
  readonly connection: RemovedConfig["connection"];
  readonly range: SourceRange;
}

/** The `removed` blocks of a tree, checked against the configuration and each other. */
export function collectRemoved(
  root: ModuleNode,
  moves: readonly MoveStatement[],
  diagnostics: Diagnostic[],
): RemovedStatement[] {
  const statements = new Map<string, RemovedStatement>();
  const visit = (module: ModuleNode): void => {
    for (const { from: written, destroy, range, ...provisioning } of module.config.removed) {
      const report = (
        severity: Diagnostic["severity"],
        summary: string,
        detail: string,
        subject: SourceRange = range,
      ): void => {
        diagnostics.push({ severity, code: "LANG_REMOVED", summary, detail, subject });
      };
      const relative = traversalAddress(written, diagnostics);
      if (relative === undefined) continue;
      const problem = whyInvalid(relative);
      if (problem !== undefined) {
        report("error", ...problem);
        continue;
      }
      const from = absolute(module, relative);
      const text = formatAddress(from);
      const declared = findDeclaration(root, from);
      if (declared !== undefined) {
        const { kind } = from;
        const detail = `A removed block says that ${text} was removed, but the ${kind} is still declared.`;
        report("error", `Removed ${kind} still exists`, detail, declared.range);
        continue;
      }
      const earlier = statements.get(text);
      if (earlier !== undefined && earlier.destroy !== destroy) {
        const { filename, start } = earlier.range.source.locate(
          earlier.range.start,
          earlier.range.end,
        );
        const detail = `Another block for ${text}, at ${filename} line ${start.line}, says otherwise about destroying it.`;
        report("error", "Conflicting removed blocks", detail);
        continue;
      }
      const moved = moves.find((move) => equalAddresses(absolute(move.module, move.from), from));
      if (moved?.whole === true) {
        const detail = `${text} is moved, so that nothing is left there that could be removed.`;
        report("warning", "Removed block has no effect", detail);
      }
      statements.set(text, { from, destroy, module, range, ...provisioning });
    }
    for (const child of module.children.values()) visit(child);
  };
  visit(root);
  return [...statements.values()];
}

function absolute(module: ModuleNode, address: Address): Address {
  const prefix = module.path.map((name) => ({ name, key: undefined }));
  return { ...configAddress(address), module: [...prefix, ...configAddress(address).module] };
}

function whyInvalid(address: Address): [summary: string, detail: string] | undefined {
  if (!equalAddresses(address, configAddress(address))) {
    const detail =
      "Everything that a block declared is removed together: write the address without keys.";
    return ["Instance keys not allowed", detail];
  }
  if (address.kind === "resource" && address.mode !== "managed") {
    const detail =
      "Only managed resources are removed. For a data source it is enough to remove its block.";
    return ["Resource cannot be removed", detail];
  }
  return undefined;
}

/**
 * The statement about a recorded address: of several one that only forgets it, as what a block spares is never destroyed
 * because of another block, else the one that says most.
 */
export function removedBy(
  statements: readonly RemovedStatement[],
  address: Address,
): RemovedStatement | undefined {
  const plain = configAddress(address);
  let best: RemovedStatement | undefined;
  for (const statement of statements) {
    if (!containsAddress(statement.from, plain)) continue;
    if (best === undefined || takesPrecedence(statement, best)) best = statement;
  }
  return best;
}

function takesPrecedence(statement: RemovedStatement, other: RemovedStatement): boolean {
  if (statement.destroy !== other.destroy) return other.destroy;
  return depth(statement.from) > depth(other.from);
}

function depth(address: Address): number {
  return address.module.length * 2 + Number(address.kind === "resource");
}
