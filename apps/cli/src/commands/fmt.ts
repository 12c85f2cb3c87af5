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
 * the exit code is 3 where something is not in style, and always 2 where a file has mistakes, cannot be read or does
 * not exist, as the reference command has it. Files with such problems are left as they are, and the others formatted.
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
  const { files, problems } = await findFiles(targets, options.recursive, context.directory);
  let changed = 0;
  for (const path of files) {
    const name = relative(context.directory, path);
    const before = await orProblem(readFile(path), `${name} cannot be read`, problems);
    if (before === undefined) continue;
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
    if (options.write && !options.check) {
      await orProblem(writeFile(path, formatted.text), `${name} cannot be written`, problems);
    }
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

/** What an operation on a file gave; undefined where it failed, which keeps no other file from its turn. */
async function orProblem<T>(
  operation: Promise<T>,
  summary: string,
  problems: Diagnostic[],
): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    problems.push(problem(summary, error instanceof Error ? error.message : String(error)));
    return undefined;
  }
}

function problem(summary: string, detail: string): Diagnostic {
  return { severity: "error", code: "CLI_FMT", summary, detail };
}

/** Files of native syntax: those that are named, and those in the folders that are named. */
async function findFiles(
  targets: readonly string[],
  recursive: boolean,
  directory: string,
): Promise<{ files: string[]; problems: Diagnostic[] }> {
  const found: string[] = [];
  const problems: Diagnostic[] = [];
  for (const target of targets.length === 0 ? ["."] : targets) {
    const path = resolve(directory, target);
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) {
      const detail = "Paths begin at the working folder, or at that of --chdir.";
      problems.push(problem(`There is no file or folder "${target}"`, detail));
      continue;
    }
    if (!stats.isDirectory()) {
      if (FORMATTED.test(basename(path))) found.push(path);
      else problems.push(problem(`"${target}" cannot be formatted`, FORMATTED_NAMES));
      continue;
    }
    const folders = [path];
    // Grows while it is walked: one folder that cannot be read keeps no other from its turn.
    for (const folder of folders) {
      const name = folder === path ? target : relative(directory, folder);
      const reading = readdir(folder, { withFileTypes: true });
      const entries = await orProblem(reading, `The folder "${name}" cannot be read`, problems);
      for (const entry of entries ?? []) {
        if (isHidden(entry.name)) continue;
        const file = join(folder, entry.name);
        if (recursive && entry.isDirectory()) folders.push(file);
        if (!FORMATTED.test(entry.name)) continue;
        if (entry.isFile() || (entry.isSymbolicLink() && (await isFile(file)))) found.push(file);
      }
    }
  }
  const files = [...new Set(found)].toSorted(
    (left, right) => compare(dirname(left), dirname(right)) || compare(left, right),
  );
  return { files, problems };
}

/** Whether a link leads to a file, which is formatted through it. */
async function isFile(link: string): Promise<boolean> {
  return (await stat(link).catch(() => undefined))?.isFile() === true;
}

const FORMATTED = /\.(?:tf|tofu|tfvars|tftest\.hcl|tofutest\.hcl)$/;
const FORMATTED_NAMES =
  "Files of configurations, variables and tests are formatted: .tf, .tofu, .tfvars, .tftest.hcl, .tofutest.hcl.";

function isHidden(name: string): boolean {
  return name.startsWith(".") && name !== ".";
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
