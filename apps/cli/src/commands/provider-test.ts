import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isJsonObject, type JsonValue } from "@stackwright/base/json";
import { TfpluginError } from "@stackwright/tfplugin";
import {
  type CheckResult,
  type ConformanceReport,
  checkProvider,
  type ProviderSamples,
  parseSamples,
} from "@stackwright/tfplugin/conformance";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { PROVIDER_PROJECT_FILE, readProviderProject } from "../provider-kit/project-file.ts";
import { openTestedProvider, type ProviderTarget } from "../provider-kit/tested-provider.ts";
import { printable } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface ProviderTestOptions {
  readonly samples?: string;
  readonly pulumi: boolean;
  /** Seconds. */
  readonly timeout: string;
  readonly json: boolean;
}

/**
 * Checks a provider against what engines rely on: that of the folder, or the program or function that is named.
 *
 * @param words a program with its arguments, or the address of a function; empty for the project of the folder
 */
export async function providerTest(
  words: readonly string[],
  options: ProviderTestOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const timeoutMs = millisecondsOf(options.timeout);
  const { target, samples } = await subjectOf(words, options, context);
  await using tested = await openTestedProvider(target, context, { timeoutMs });
  const { style } = terminal;
  let subject = "";
  const report = await checkProvider({
    open: tested.open,
    samples,
    callTimeoutMs: timeoutMs,
    signal,
    ...(tested.logs && { logs: tested.logs }),
    onCheck: (check) => {
      if (options.json) return;
      if (check.subject !== subject) {
        subject = check.subject;
        terminal.write(`${style.paint("strong", printable(subject))}\n`);
      }
      writeCheck(check, terminal);
    },
  });
  if (options.json) terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  else terminal.write(summaryOf(report));
  return report.failed === 0 ? EXIT.ok : EXIT.failed;
}

const SIGNS = { passed: "ok     ", failed: "FAILED ", skipped: "skipped" } as const;

function writeCheck({ name, outcome, findings, reason }: CheckResult, terminal: Terminal): void {
  const why = reason === undefined ? "" : `: ${printable(reason)}`;
  terminal.write(`  ${SIGNS[outcome]} ${printable(name)}${why}\n`);
  for (const { severity, text } of findings) {
    for (const [index, line] of text.split("\n").entries()) {
      const lead = index === 0 ? `${severity}: ` : "  ";
      terminal.write(`            ${lead}${printable(line)}\n`);
    }
  }
}

function summaryOf({ checks, failed, warnings }: ConformanceReport): string {
  const passed = checks.filter(({ outcome }) => outcome === "passed").length;
  const skipped = checks.length - passed - failed;
  return `\n${passed} passed, ${failed} failed, ${skipped} skipped, ${warnings} ${warnings === 1 ? "warning" : "warnings"}.\n`;
}

async function subjectOf(
  words: readonly string[],
  { samples: file, pulumi }: ProviderTestOptions,
  context: CommandContext,
): Promise<{ readonly target: ProviderTarget; readonly samples: ProviderSamples }> {
  const [first] = words;
  if (first === undefined) {
    const project = await readProviderProject(context);
    const samples = file === undefined ? project.samples : await readSamples(file, context);
    return {
      target: { kind: "terraform", words: project.command },
      samples: parsed(samples, file ?? PROVIDER_PROJECT_FILE),
    };
  }
  const samples = file === undefined ? {} : parsed(await readSamples(file, context), file);
  if (/^https?:\/\//.test(first)) return { target: { kind: "function", url: first }, samples };
  return { target: { kind: pulumi ? "pulumi" : "terraform", words }, samples };
}

/** Samples in a file of their own, or those of the project that the file is of. */
async function readSamples(
  file: string,
  { directory }: Pick<CommandContext, "directory">,
): Promise<JsonValue> {
  let json: JsonValue;
  try {
    json = JSON.parse(await readFile(resolve(directory, file), "utf8")) as JsonValue;
  } catch (error) {
    throw new CommandError(`The file of samples "${file}" cannot be read.`, {
      cause: error,
      advice: error instanceof Error ? printable(error.message) : "",
    });
  }
  return isJsonObject(json) && json["samples"] !== undefined ? json["samples"] : json;
}

function parsed(json: JsonValue, name: string): ProviderSamples {
  try {
    return parseSamples(json, name);
  } catch (error) {
    if (!TfpluginError.is(error, "TFPLUGIN_OPTIONS_INVALID")) throw error;
    throw new CommandError(`${printable(error.message)}.`, {
      cause: error,
      advice:
        'Samples are JSON: {"settings": {...}, "resources": {TYPE: {"config": {...}, "update": {...}, "import": ATTRIBUTE}}, "dataSources": {TYPE: {...}}}',
    });
  }
}

function millisecondsOf(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new CommandError(`--timeout takes a number of seconds up to 3600, and not "${text}".`);
}
