import { randomBytes as systemRandomBytes } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { LoadedTree, TestFile, TestRun } from "@stackwright/lang";
import type { ProviderCatalog } from "../providers/catalog.ts";
import type { ProvisionerRunner } from "../provisioners/provisioner-runner.ts";
import { createRedactor, type Redactor } from "../secrets/redactor.ts";
import { runTestFile } from "./run-file.ts";
import { type TestEvent, type TestFileResult, type TestStatus, worse } from "./test-result.ts";
import { openTestStates, type TestStates } from "./test-states.ts";
import type { TestValues } from "./test-variables.ts";

/** Everything that the files of a suite share. */
export interface TestSuiteOptions {
  /** In the order in which they are executed. */
  readonly testFiles: readonly TestFile[];
  /** The root module, which runs without a `module` block are about. */
  readonly root: LoadedTree;
  /** The module of a run that names another one. */
  readonly moduleOf: (file: TestFile, run: TestRun) => LoadedTree | undefined;
  readonly values: Omit<TestValues, "declared">;
  readonly catalog: ProviderCatalog;
  /** Executes provisioners. @default a run that would execute one ends in an error */
  readonly provisioners?: ProvisionerRunner;
  /** Calls to providers, and runs, at the same time. @default 10 */
  readonly parallelism?: number;
  /** @default that of the process */
  readonly clock?: Clock;
  /** Random bytes for ULIDs, for functions and for values of mocks. @default those of the system */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** First stage of stopping: what runs ends, the rest is skipped, and what was made is destroyed. */
  readonly signal?: AbortSignal;
  /** Second stage: nothing is waited for; what is left is reported. */
  readonly forceSignal?: AbortSignal;
  readonly onEvent?: (event: TestEvent) => void;
}

/** What the files share, complete. */
export interface TestSuite
  extends Required<Omit<TestSuiteOptions, "signal" | "forceSignal" | "provisioners">> {
  readonly provisioners?: ProvisionerRunner;
  readonly signal: AbortSignal;
  readonly forceSignal: AbortSignal;
  readonly states: TestStates;
  readonly values: TestValues;
  /** Knows the secrets of all runs so far: outputs carry them from one to the next. */
  readonly secrets: Redactor;
}

/** How many runs ended in which way. */
export interface TestSummary {
  readonly status: TestStatus;
  readonly passed: number;
  readonly failed: number;
  readonly errored: number;
  readonly skipped: number;
  readonly files: readonly TestFileResult[];
  /** Whether nothing is left of what the runs made, and nothing stopped them. */
  readonly isClean: boolean;
}

/**
 * Executes test files, one after the other. States are in memory; what runs made is destroyed at the end of their file, also after
 * errors and after `signal`. What is wrong with a run is in its result; rejects only where no state can be kept.
 */
export async function runTests(options: TestSuiteOptions): Promise<TestSummary> {
  const never = new AbortController().signal;
  const clock = options.clock ?? systemClock;
  await using states = await openTestStates(clock);
  const suite: TestSuite = {
    parallelism: 10,
    randomBytes: systemRandomBytes,
    signal: never,
    forceSignal: never,
    onEvent: () => undefined,
    ...options,
    values: { ...options.values, declared: options.root.root.config.variables },
    clock,
    states,
    secrets: createRedactor(),
  };
  const { testFiles, onEvent, signal } = suite;
  onEvent({
    type: "suite",
    files: new Map(testFiles.map(({ name, runs }) => [name, runs.map((run) => run.name)])),
  });
  const onStop = (): void => onEvent({ type: "interrupted" });
  signal.addEventListener("abort", onStop, { once: true });
  try {
    const files: TestFileResult[] = [];
    for (const file of testFiles) files.push(await runTestFile(suite, file));
    return summarize(files, signal.aborted);
  } finally {
    signal.removeEventListener("abort", onStop);
  }
}

function summarize(files: readonly TestFileResult[], interrupted: boolean): TestSummary {
  const runs = files.flatMap((file) => file.runs);
  const count = (status: TestStatus) => runs.filter((run) => run.status === status).length;
  return {
    status: files.reduce<TestStatus>((status, file) => worse(status, file.status), "pass"),
    passed: count("pass"),
    failed: count("fail"),
    errored: count("error"),
    skipped: count("skip"),
    files,
    isClean: !interrupted && files.every(({ isClean }) => isClean),
  };
}
