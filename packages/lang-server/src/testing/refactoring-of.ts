import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import {
  checkTree,
  collectRefactoring,
  createDirectoryFiles,
  loadModuleTree,
  type Refactoring,
} from "@stackwright/lang";

/** What the blocks of a configuration of one file say about its objects, and the problems that the whole has. */
export async function refactoringOf(
  text: string,
): Promise<{ readonly refactoring: Refactoring; readonly problems: readonly string[] }> {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "lang-server-"));
  const folder = temporary.path;
  writeFileSync(join(folder, "main.tf"), text);
  const machine = { workingDirectory: folder, home: homedir() };
  const { root, diagnostics } = await loadModuleTree(createDirectoryFiles(folder, { machine }), {});
  const refactoring = collectRefactoring(root);
  const all = [...diagnostics, ...checkTree(root, {}), ...refactoring.diagnostics];
  return { refactoring, problems: all.map(({ summary, detail }) => `${summary}: ${detail}`) };
}
