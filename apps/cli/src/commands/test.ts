import { writeFile } from "node:fs/promises";
import { normalize, resolve } from "node:path";
import { runTests, type TestEvent, type TestFileResult } from "@stackwright/core";
import { type Diagnostic, hasErrors, type TestFile } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { JsonTestView } from "../render/json-test-view.ts";
import { junitReport } from "../render/junit.ts";
import { type TestView, TextTestView } from "../render/test-view.ts";
import { commandProvisioners } from "../session/command-provisioners.ts";
import { openEngine } from "../session/open-engine.ts";
import {
  loadProject,
  type VariableInput,
  variableFiles,
  variableSources,
} from "../session/project.ts";
import { parallelismOf } from "../session/run-options.ts";
import { schemasOfProviders } from "../session/schemas-of.ts";
import { checkedFolder } from "../session/test-folder.ts";

export interface TestOptions {
  /** The folder of test files besides the folder itself. */
  readonly testDirectory: string;
  /** Paths of the test files that are executed; empty: all. */
  readonly filter: readonly string[];
  readonly json: boolean;
  /** Where a report in JUnit's form is written. */
  readonly junitXml?: string;
  readonly verbose: boolean;
  readonly parallelism: string;
  readonly inputs: readonly VariableInput[];
}

/**
 * Executes the test files of a configuration: plans and applies as their runs say, evaluates their assertions, and destroys what
 * was made. States are in memory; nothing is read from or written to the store.
 */
export async function test(options: TestOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, signal, forceSignal } = context;
  const parallelism = parallelismOf(options);
  const testFolder = checkedFolder(options.testDirectory);
  const project = await loadProject(context, undefined, {
    testFolder,
    inputs: options.inputs,
  });
  const { configuration, tests } = project;
  await using engine = await openEngine(project, context);
  const view: TestView = options.json
    ? new JsonTestView(terminal, commandVersion())
    : new TextTestView(terminal);
  const schemas = async (providers: Parameters<typeof schemasOfProviders>[1]) =>
    schemasOfProviders(engine, providers);
  const loaded = tests?.files ?? [];
  // What is wrong inside of expressions is reported by each run.
  const unsound = configuration.isSound ? [] : configuration.diagnostics;
  const diagnostics = [...(tests?.diagnostics ?? []), ...unsound];
  if (tests === undefined || hasErrors(diagnostics)) {
    view.diagnostics(diagnostics);
    return EXIT.failed;
  }
  const files = filtered(loaded, options.filter);
  view.diagnostics([...diagnostics, ...unmatched(loaded, options.filter)]);
  let shown = Promise.resolve();
  const summary = await runTests({
    testFiles: files,
    root: { root: configuration.root, diagnostics: [], argumentDiagnostics: [] },
    moduleOf: tests.moduleOf,
    values: {
      files: project.files,
      sources: [
        ...(await variableSources(project, options.inputs, context)),
        ...(await variableFiles(project.directory, testFolder)),
      ],
    },
    catalog: engine.catalog,
    provisioners: commandProvisioners(context),
    parallelism,
    signal,
    forceSignal,
    onEvent: (event: TestEvent) => {
      shown = shown.then(async () => view.event(event, options.verbose ? schemas : undefined));
    },
  });
  await shown;
  view.summary(summary);
  if (options.junitXml !== undefined) {
    await writeReport(resolve(context.directory, options.junitXml), summary.files);
  }
  const passed = summary.failed + summary.errored === 0;
  return passed && summary.isClean ? EXIT.ok : EXIT.failed;
}

function filtered(files: readonly TestFile[], filter: readonly string[]): readonly TestFile[] {
  if (filter.length === 0) return files;
  const wanted = new Set(filter.map((path) => normalize(path)));
  return files.filter(({ name }) => wanted.has(name));
}

/** Filters that no file has. */
function unmatched(files: readonly TestFile[], filter: readonly string[]): readonly Diagnostic[] {
  const names = new Set(files.map(({ name }) => name));
  const list = [...names].map((name) => `  - ${name}`).join("\n");
  return filter
    .filter((path) => !names.has(normalize(path)))
    .map((path) => ({
      severity: "warning",
      code: "ENGINE_TEST",
      summary: "Unknown test file",
      detail: `There is no test file "${path}". ${names.size === 0 ? "There are no test files." : `The test files are\n\n${list}`}`,
    }));
}

async function writeReport(path: string, files: readonly TestFileResult[]): Promise<void> {
  try {
    await writeFile(path, junitReport(files));
  } catch (error) {
    throw new CommandError(`The report "${path}" cannot be written.`, {
      cause: error,
      advice: error instanceof Error ? error.message : "",
    });
  }
}
