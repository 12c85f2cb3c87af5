import type { ModuleNode } from "../config/load-tree.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { checkImports } from "./import-blocks.ts";
import type { MoveStatement } from "./move-pattern.ts";
import { collectMoves } from "./moved-blocks.ts";
import { collectRemoved, type RemovedStatement } from "./removed-blocks.ts";

/** What a tree of modules says about objects that were declared otherwise before. */
export interface Refactoring {
  /** In the order of application. */
  readonly moves: readonly MoveStatement[];
  readonly removed: readonly RemovedStatement[];
  /** What is wrong with `moved`, `removed` and `import` blocks, together and by themselves. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Collects and checks the `moved` and `removed` blocks of a tree, and checks its `import` blocks. */
export function collectRefactoring(root: ModuleNode): Refactoring {
  const diagnostics: Diagnostic[] = [];
  const moves = collectMoves(root, diagnostics);
  const removed = collectRemoved(root, moves, diagnostics);
  checkImports(root, diagnostics);
  return { moves, removed, diagnostics };
}
