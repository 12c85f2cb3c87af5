import { existsSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Semaphore } from "@stackwright/base/limiter";
import { parseStoreAddress, storeName } from "@stackwright/core";
import { adoptWorkspaces, type RootReport } from "../adoption/adopt-workspaces.ts";
import {
  countVerdicts,
  reportExitCode,
  reportJson,
  workspaceText,
} from "../adoption/adoption-report.ts";
import { findRoots, repositoryRoot } from "../adoption/find-roots.ts";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { stackOfFolder } from "../repository/stack-of-folder.ts";
import { BACKEND_ARGUMENT } from "../session/old-backend.ts";
import { printable } from "../terminal/printable.ts";
import { type AdoptRootOptions, oldTreatment } from "./adopt-root.ts";

export interface AdoptAllOptions extends AdoptRootOptions {
  /** File that the report is written to. */
  readonly report?: string;
  /** How stacks are named in a store that the root modules share. */
  readonly nameTemplate?: string;
}

const SHARED_TEMPLATE = "{dir}-{workspace}";
const ROOTS_AT_ONCE = 4;

/**
 * Adopts every root module below a directory and reports on each. A root that fails does not stop the others, and one that
 * was adopted before is left alone, so the command can be repeated.
 */
export async function adoptAll(
  directory: string,
  options: AdoptAllOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const old = oldTreatment(options.old);
  const base = resolve(context.directory, directory);
  if (statSync(base, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CommandError(`There is no folder "${printable(directory)}".`);
  }
  const roots = findRoots(base);
  if (roots.length === 0) {
    if (options.json) terminal.write(reportJson([]));
    else
      terminal.write(`No root module with a backend or a state was found below "${directory}".\n`);
    return EXIT.ok;
  }
  if (!options.yes && !options.dryRun) {
    throw new CommandError(`${roots.length} root modules would be adopted.`, {
      advice: "See what would happen with --dry-run, then run it with --yes.",
    });
  }
  if (!options.dryRun && roots.length > 1) requireOneKey(options, context);
  const nameOf = stackNames(roots, base, options, context);
  const { env, store } = fromOneDirectory(options, context);
  const backendConfig = options.backendConfig.map((given) => fromAbove(given, context));
  const recording = new Semaphore(1);
  const limiter = new Semaphore(ROOTS_AT_ONCE);
  const reports = await Promise.all(
    roots.map(async (root) =>
      limiter.run(async () => {
        const report = await adoptWorkspaces(
          { ...options, backendConfig, old, recording, ...(store !== undefined && { store }) },
          { ...context, env, directory: join(base, root), workingDirectory: join(base, root) },
          { directory: root, stackOf: (workspace) => nameOf(root, workspace) },
        );
        if (!options.json) terminal.write(rootText(report));
        return report;
      }),
    ),
  );
  if (options.report !== undefined) {
    await writeFile(resolve(context.directory, options.report), reportJson(reports));
  }
  if (options.json) terminal.write(reportJson(reports));
  else terminal.write(`\n${summaryText(reports)}\n`);
  return reportExitCode(reports);
}

/** Each root module would make a key of its own, with which the others cannot read what they share. */
function requireOneKey({ store }: AdoptAllOptions, { env }: CommandContext): void {
  const isSet = (name: string): boolean => (env[name] ?? "") !== "";
  if (store === undefined && !isSet("STACKWRIGHT_STORE")) return;
  // A folder for all of them has one key as well.
  if (["", "_FILE", "_COMMAND"].some((end) => isSet(`STACKWRIGHT_KEY${end}`))) return;
  if (isSet("STACKWRIGHT_DIR")) return;
  throw new CommandError(
    "The root modules would share a store, and no key: each would make its own.",
    {
      advice: `Make one, keep it apart from the store, and name it for all commands of the store:

  (umask 077; openssl rand -base64 32 > state.key)
  export STACKWRIGHT_KEY_FILE=$PWD/state.key`,
    },
  );
}

/** A file of backend arguments in the directory of the command is one for all; any other name is one in each root module. */
function fromAbove(given: string, { directory }: CommandContext): string {
  const path = resolve(directory, given);
  return !BACKEND_ARGUMENT.test(given) && existsSync(path) ? path : given;
}

/** A store that is named by a relative path is one store, not one for each root module. */
function fromOneDirectory(
  { store }: AdoptAllOptions,
  { env, directory }: CommandContext,
): { readonly env: NodeJS.ProcessEnv; readonly store?: string } {
  const absolute = (text: string): string =>
    text.startsWith("sqlite:") ? storeName(parseStoreAddress(text, directory)) : text;
  const { STACKWRIGHT_STORE: named = "", STACKWRIGHT_DIR: folder = "" } = env;
  return {
    env: {
      ...env,
      ...(named !== "" && { STACKWRIGHT_STORE: absolute(named) }),
      ...(folder !== "" && { STACKWRIGHT_DIR: resolve(directory, folder) }),
    },
    ...(store !== undefined && { store: absolute(store) }),
  };
}

/**
 * Names of stacks. In a store of its own a root names them as its workspaces; in a shared one by the directory too, and names
 * that two roots would have are an error before anything is done.
 */
function stackNames(
  roots: readonly string[],
  base: string,
  { store, nameTemplate }: AdoptAllOptions,
  { env }: CommandContext,
): (root: string, workspace: string) => string {
  const isShared = (store ?? env["STACKWRIGHT_STORE"] ?? env["STACKWRIGHT_DIR"] ?? "") !== "";
  const template = nameTemplate ?? (isShared ? SHARED_TEMPLATE : "{workspace}");
  const top = repositoryRoot(base);
  const nameOf = (root: string, workspace: string): string => {
    const dir = stackOfFolder(top, join(base, root));
    const text = template.replaceAll("{dir}", () => dir);
    return workspace === "default" && nameTemplate === undefined
      ? text.replace("-{workspace}", "").replace("{workspace}", "default")
      : text.replaceAll("{workspace}", () => workspace);
  };
  if (!isShared) return nameOf;
  const seen = new Map<string, string>();
  for (const root of roots) {
    const name = nameOf(root, "default");
    const other = seen.get(name);
    if (other !== undefined) {
      throw new CommandError(
        `The root modules "${other}" and "${root}" would both be the stack "${name}".`,
        {
          advice: "Name the stacks with --name-template, such as {dir}-{workspace}.",
        },
      );
    }
    seen.set(name, root);
  }
  return nameOf;
}

function rootText({ directory, backend, workspaces, problem }: RootReport): string {
  const head = printable(`${directory}${backend === "" ? "" : ` (${backend})`}`);
  if (problem !== undefined) return `${head}\n  Not adopted: ${printable(problem)}\n`;
  return `${head}\n${workspaces.map((report) => indented(workspaceText(report))).join("")}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}

function summaryText(reports: readonly RootReport[]): string {
  const counts = Object.entries(countVerdicts(reports)).filter(([, count]) => count > 0);
  const parts = counts.map(([name, count]) => `${count} ${name}`);
  return `${reports.length} root modules: ${parts.join(", ")}.`;
}
