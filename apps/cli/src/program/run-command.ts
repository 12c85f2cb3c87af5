import { existsSync } from "node:fs";
import { trustAuthorities } from "@stackwright/engine/trusted-authorities";
import { CommanderError } from "commander";
import type { CommandProcess } from "../command-context.ts";
import { CommandError, hintOf } from "../command-error.ts";
import { credentialsPath } from "../connection/server-credentials.ts";
import { EXIT } from "../exit-code.ts";
import { printableLines } from "../terminal/printable.ts";
import { adviceOfSystem } from "./advice-of-system.ts";
import { definitionsFor } from "./chosen-commands.ts";
import { namedCommand, withEnvironmentArguments, withoutShortcuts } from "./command-words.ts";
import { missingCliConfiguration } from "./missing-cli-configuration.ts";
import { normalizeOptions } from "./normalize-options.ts";
import { createProgram } from "./program.ts";
import { variableNotes } from "./reference-variables.ts";

/** `CommandError` for a file of authorities that cannot be read. */
function trust(env: CommandProcess["streams"]["env"]): void {
  try {
    trustAuthorities(env);
  } catch (error) {
    throw new CommandError((error as Error).message, { cause: error });
  }
}

/**
 * Runs one command and returns the exit code of the process. Errors in the use of the command, and everything that a
 * command throws, are written to the error stream; nothing is thrown.
 *
 * @param words what stands behind the name of the program
 */
export async function runCommand(
  words: readonly string[],
  process: CommandProcess,
): Promise<number> {
  let code: number = EXIT.ok;
  const report = (reported: number): void => {
    code = reported;
  };
  const program = createProgram(process, report, await definitionsFor(words));
  try {
    const all = withEnvironmentArguments(
      withoutShortcuts(words, program),
      program,
      process.streams.env,
    );
    if (namedCommand(all, program) === undefined && !all.some((word) => HELP.test(word))) {
      process.streams.output.write(program.helpInformation());
      return EXIT.noCommand;
    }
    const path = namedCommand(all, program)?.path ?? [];
    // To read authorities takes as long as these commands take.
    if (!OFFLINE.has(path[0]?.name() ?? "")) trust(process.streams.env);
    if (!WITHOUT_PROXY.has(path[0]?.name() ?? "")) await trustStored(process.streams.env);
    const notes = [
      ...variableNotes(process.streams.env),
      ...missingCliConfiguration(process.streams.env),
    ];
    if (namesProxy(process.streams.env) && !WITHOUT_PROXY.has(path[0]?.name() ?? "")) {
      const { useProxies } = await import("./use-proxies.ts");
      notes.push(...useProxies(process.streams.env));
    }
    for (const note of notes) process.streams.error.write(`${note}\n`);
    await program.parseAsync([...normalizeOptions(all, [program, ...path])], { from: "user" });
    return code;
  } catch (error) {
    const ended = reportFailure(error, process);
    if (error instanceof CommanderError) {
      const { suggestOption } = await import("./suggest-option.ts");
      const hint = suggestOption(error, [program, ...(namedCommand(words, program)?.path ?? [])]);
      if (hint !== undefined) process.streams.error.write(`${hint}\n`);
    }
    if (ended === EXIT.failed && !(error instanceof CommanderError)) {
      const { writeJsonFailure } = await import("../render/json-failure.ts");
      await writeJsonFailure(error, words, (text) => process.streams.output.write(text));
    }
    return ended;
  }
}

/** Commands that connect to nothing. */
const OFFLINE: ReadonlySet<string> = new Set(["version", "fmt"]);

/** Commands that connect to nothing, and those whose connections are the business of an operator. */
const WITHOUT_PROXY: ReadonlySet<string> = new Set([
  ...OFFLINE,
  "docs",
  "execute",
  "functions",
  "lsp",
  "serve",
  "worker",
]);

/** Lets requests trust the authorities of servers that were stored with a login. */
async function trustStored(env: NodeJS.ProcessEnv): Promise<void> {
  // Most users have no login.
  if (!existsSync(credentialsPath(env))) return;
  const { storedAuthorities } = await import("../connection/stored-authorities.ts");
  const authorities = await storedAuthorities(env);
  if (authorities.size === 0) return;
  const { trustHosts } = await import("../connection/trust-hosts.ts");
  trustHosts(authorities);
}

const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

function namesProxy(env: NodeJS.ProcessEnv): boolean {
  return PROXY_VARIABLES.some((name) => (env[name] ?? "") !== "");
}

const HELP = /^(?:-h|--?help)$/;

function reportFailure(error: unknown, { streams, signal }: CommandProcess): number {
  if (error instanceof CommanderError) {
    // Help and the version are ends, too.
    return error.exitCode;
  }
  if (signal.aborted && error === signal.reason) {
    streams.error.write("Stopped before anything was done.\n");
    return EXIT.interrupted;
  }
  const message = error instanceof Error ? error.message : String(error);
  streams.error.write(`Error: ${printableLines(message)}\n`);
  const advice = hintOf(error) ?? adviceOfSystem(error);
  if (advice !== undefined) streams.error.write(`\n${printableLines(advice)}\n`);
  if (error instanceof CommandError) return EXIT.failed;
  if (streams.env.STACKWRIGHT_DEBUG !== undefined && error instanceof Error) {
    streams.error.write(`${error.stack ?? ""}\n`);
  }
  return EXIT.failed;
}
