import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { type Diagnostic, formatFile } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { unifiedDiff } from "../render/unified-diff.ts";

export interface FmtOptions {
  /** Names of changed files are listed. */
  readonly list: boolean;
  readonly write: boolean;
  readonly diff: boolean;
  readonly check: boolean;
  readonly recursive: boolean;
}

/**
 * Writes files in the canonical style. `-` formats standard input. With `check` nothing is written, and
 * the exit code is 3 where something is not in style, as the reference command has it.
 */
export async function fmt(
  targets: readonly string[],
  options: FmtOptions,
  context: CommandContext,
): Promise<ExitCode | 3> {
  if (targets.includes("-")) {
    if (targets.length > 1) throw new CommandError('"-" (standard input) stands alone.');
    return formatInput(options, context);
  }
  const problems: Diagnostic[] = [];
  let changed = 0;
  for (const path of await findFiles(targets, options.recursive, context.directory)) {
    const before = await readFile(path);
    const name = relative(context.directory, path);
    const formatted = formatFile({ name, text: before });
    if (formatted.text === undefined) {
      problems.push(...formatted.diagnostics);
      continue;
    }
    const text = before.toString("utf8");
    if (formatted.text === text) continue;
    changed++;
    if (options.list) context.terminal.write(`${name}\n`);
    if (options.diff) context.terminal.write(unifiedDiff(name, text, formatted.text));
    if (options.write && !options.check) await writeFile(path, formatted.text);
  }
  showDiagnostics(context.terminal, problems);
  if (problems.length > 0) return EXIT.changes;
  return options.check && changed > 0 ? 3 : EXIT.ok;
}

async function formatInput(options: FmtOptions, { terminal }: CommandContext) {
  const before = await terminal.readAll();
  const formatted = formatFile({ name: "<stdin>", text: before });
  if (formatted.text === undefined) {
    showDiagnostics(terminal, formatted.diagnostics);
    return EXIT.changes;
  }
  if (options.diff) terminal.write(unifiedDiff("<stdin>", before, formatted.text));
  else if (!options.check) terminal.write(formatted.text);
  return options.check && formatted.text !== before ? 3 : EXIT.ok;
}

/** Files of native syntax: those that are named, and those in the folders that are named. */
async function findFiles(
  targets: readonly string[],
  recursive: boolean,
  directory: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const target of targets.length === 0 ? ["."] : targets) {
    const path = resolve(directory, target);
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) throw new CommandError(`There is no file or folder "${target}".`);
    if (!stats.isDirectory()) {
      if (!FORMATTED.test(basename(path))) {
        throw new CommandError(`"${target}" is not a file that can be formatted (.tf, .tfvars).`);
      }
      found.push(path);
      continue;
    }
    const entries = await readdir(path, { withFileTypes: true, recursive });
    for (const entry of entries) {
      const inHidden = relative(path, entry.parentPath).split("/").some(isHidden);
      if (!FORMATTED.test(entry.name) || isHidden(entry.name) || inHidden) continue;
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(file)))) found.push(file);
    }
  }
  return [...new Set(found)].toSorted(
    (left, right) => compare(dirname(left), dirname(right)) || compare(left, right),
  );
}

/** Whether a link leads to a file, which is formatted through it. */
async function isFile(link: string): Promise<boolean> {
  return (await stat(link).catch(() => undefined))?.isFile() === true;
}

const FORMATTED = /\.(?:tf|tofu|tfvars|tftest\.hcl|tofutest\.hcl)$/;

function isHidden(name: string): boolean {
  return name.startsWith(".") && name !== ".";
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
