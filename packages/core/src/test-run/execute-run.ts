import type { Value } from "@stackwright/cty";
import {
  type Diagnostic,
  type EvaluationScope,
  hasErrors,
  type LoadedTree,
  sortDiagnostics,
  type TestFile,
  type TestRun,
} from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import { createEngine, type Engine } from "../engine.ts";
import type { PlanOptions } from "../plan/plan.ts";
import type { ProviderOrigin } from "../providers/catalog.ts";
import { redactDiagnostics } from "../redact-run.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { StackState } from "../state/stack-state.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { type Assertions, checkAssertions } from "./assertions.ts";
import { planProblems, uncheckable, withoutExpected } from "./expected-failures.ts";
import { replacedCatalog } from "./mock-catalog.ts";
import { evaluateMock, evaluateOverrides, Replacements } from "./replacements.ts";
import { providersOf, type RunProvider, runConfiguration } from "./run-configuration.ts";
import type { TestDetail, TestRunResult, TestStatus } from "./test-result.ts";
import { fileScope, type RunOutputs } from "./test-scope.ts";
import type { TestSuite } from "./test-suite.ts";
import { fileVariables, runVariables } from "./test-variables.ts";

/** The state that runs with the same key share. */
export interface RunTarget {
  readonly state: StackState;
}

interface ExecuteRunRequest {
  readonly suite: TestSuite;
  readonly file: TestFile;
  readonly run: TestRun;
  readonly target: RunTarget;
  /** Of the runs so far. */
  readonly outputs: RunOutputs;
}

/** What came of a run, and what is needed to destroy what it made. */
export interface ExecutedRun {
  readonly run: TestRun;
  readonly result: TestRunResult;
  /** Undefined where there are none for later runs. */
  readonly outputs: Value | undefined;
  /** Whether objects may have been made, changed or destroyed. */
  readonly changedState: boolean;
  /** What the objects are destroyed with. */
  readonly ending: RunEnding | undefined;
}

interface RunEnding {
  readonly engine: Engine;
  readonly configuration: Configuration;
  readonly variables: ReadonlyMap<string, Value>;
}

/** What a run ended with, while it is executed. */
interface Outcome {
  readonly status: TestStatus;
  readonly diagnostics: readonly Diagnostic[];
  readonly assertions?: Assertions | undefined;
  readonly detail?: TestDetail;
  readonly changedState?: boolean;
}

/** Executes a run: makes its plan, applies it where the run says so, and evaluates its assertions. */
export async function executeRun(request: ExecuteRunRequest): Promise<ExecutedRun> {
  const { suite, run } = request;
  const { clock, secrets } = suite;
  const startedAtMs = clock.wallMs();
  const begun = clock.monotonicMs();
  const prepared = prepare(request);
  const outcome: Outcome =
    "diagnostics" in prepared
      ? { status: "error", diagnostics: prepared.diagnostics }
      : await attempt(request, prepared);
  const { status, diagnostics, assertions, detail, changedState = false } = outcome;
  return {
    run,
    result: {
      name: run.name,
      status,
      diagnostics: redactDiagnostics(secrets, diagnostics),
      startedAtMs,
      elapsedMs: clock.monotonicMs() - begun,
      assertions: run.assertions.length,
      failures: assertions?.failures.map((message) => secrets.redact(message)) ?? [],
      ...(!("diagnostics" in prepared) && { configuration: prepared.configuration }),
      ...(detail && { detail }),
    },
    outputs: assertions?.outputs,
    changedState,
    ending: "diagnostics" in prepared ? undefined : prepared.ending(),
  };
}

/** Everything that a run is executed with. */
interface Prepared {
  readonly engine: Engine;
  readonly configuration: Configuration;
  readonly variables: ReadonlyMap<string, Value>;
  /** What `var` is in assertions, besides the variables of the module. */
  readonly given: ReadonlyMap<string, Value>;
  readonly warnings: readonly Diagnostic[];
  readonly ending: () => RunEnding;
}

function prepare(request: ExecuteRunRequest): Prepared | { diagnostics: readonly Diagnostic[] } {
  const { suite, file, run, outputs } = request;
  const tree = run.module === undefined ? suite.root : suite.moduleOf(file, run);
  if (tree === undefined) return { diagnostics: [notInstalled(run)] };
  const diagnostics: Diagnostic[] = [];
  const providers = providersOf(file, run, tree);
  const replacements = replacementsOf(file, run, providers, diagnostics);
  const seen = fileVariables(suite.values, file, outputs, diagnostics);
  const scope: EvaluationScope = fileScope(seen, outputs, suite.values.files);
  const configured = (ends: boolean): Configuration =>
    runConfiguration(tree, { providers, replacements, scope, ends });
  const configuration = configured(false);
  const {
    values,
    given,
    diagnostics: found,
  } = runVariables(suite.values, file, run, tree.root.config.variables, scope, outputs);
  diagnostics.push(...found, ...unknownTargets(run, tree), ...uncheckable(run.expectFailures));
  if (hasErrors(diagnostics)) return { diagnostics };
  const seed = Buffer.from(suite.randomBytes(16)).toString("hex");
  const catalog = replacedCatalog(suite.catalog, replacements, seed);
  const origin: ProviderOrigin = {
    name: "test",
    handles: () => true,
    select: async (requirement, options) => catalog.select(requirement, options),
    open: async (reference, options) => catalog.open(reference, options),
    identify: async (reference, options) => catalog.identify(reference, options),
  };
  const engine = createEngine({
    origins: [origin],
    clock: suite.clock,
    randomBytes: suite.randomBytes,
    ...(suite.provisioners && { provisioners: suite.provisioners }),
  });
  return {
    engine,
    configuration,
    variables: values,
    given,
    warnings: diagnostics,
    ending: () => ({ engine, configuration: configured(true), variables: values }),
  };
}

/** Runs count more than files, and files more than mocks. */
function replacementsOf(
  file: TestFile,
  run: TestRun,
  providers: readonly RunProvider[],
  diagnostics: Diagnostic[],
): Replacements {
  const mocks = providers.flatMap(({ key, mock }) =>
    mock === undefined ? [] : [[key, evaluateMock(mock, diagnostics)] as const],
  );
  const overrides = [
    ...evaluateOverrides(run.overrides, false, diagnostics),
    ...evaluateOverrides(file.overrides, false, diagnostics),
  ];
  return new Replacements(overrides, new Map(mocks));
}

/** Overrides of a run that name nothing of the module. Those of a file are for all its runs. */
function unknownTargets(run: TestRun, { root }: LoadedTree): Diagnostic[] {
  return run.overrides.flatMap(({ target, range }): Diagnostic[] => {
    let node: LoadedTree["root"] | undefined = root;
    for (const { name } of target.module) node = node?.children.get(name);
    if (target.kind === "module" && node !== undefined) return [];
    if (target.kind === "resource") {
      const { mode, type, name } = target;
      const address = `${mode === "managed" ? "" : `${mode}.`}${type}.${name}`;
      if (node?.config.resources.has(address) === true) return [];
      if ([...(node?.config.checks.values() ?? [])].some(({ data }) => data?.name === name))
        return [];
    }
    return [
      {
        severity: "warning",
        code: "ENGINE_TEST",
        summary: "Invalid override target",
        detail: "The module under test does not have what the block overrides.",
        subject: range,
      },
    ];
  });
}

async function attempt(request: ExecuteRunRequest, prepared: Prepared): Promise<Outcome> {
  try {
    return await perform(request, prepared);
  } catch (error) {
    const { suite, run } = request;
    const stopped = suite.signal.aborted;
    const diagnostic: Diagnostic = {
      severity: "error",
      code: "ENGINE_TEST",
      summary: stopped ? "Run interrupted" : "Run cannot be executed",
      detail: stopped
        ? `The run "${run.name}" was stopped before its end.`
        : error instanceof Error
          ? error.message
          : String(error),
      subject: run.range,
    };
    return { status: "error", diagnostics: [diagnostic], changedState: run.command === "apply" };
  }
}

async function perform(
  { suite, run, target, outputs }: ExecuteRunRequest,
  { engine, configuration, variables, given, warnings }: Prepared,
): Promise<Outcome> {
  const { signal, forceSignal, parallelism } = suite;
  const failed = (diagnostics: readonly Diagnostic[]): Outcome => ({
    status: "error",
    diagnostics: sortDiagnostics([...warnings, ...diagnostics]),
  });
  const checked = await engine.validate({ configuration, parallelism, signal });
  if (hasErrors(checked.diagnostics)) return failed(checked.diagnostics);
  let assertions: Assertions | undefined;
  const onEvaluated = async (world: EvaluationState, secrets: Redactor): Promise<void> => {
    secrets.feed(suite.secrets);
    assertions = await checkAssertions(run, world, given, outputs);
  };
  const plans = run.command === "plan";
  const planned = await engine.plan({
    state: target.state,
    configuration,
    variables,
    options: optionsOf(run),
    parallelism,
    signal,
    ...(plans && { onEvaluated }),
  });
  const { plan } = planned;
  if (plans) {
    const found = withoutExpected(planned.diagnostics, run.expectFailures);
    if (hasErrors(found)) return failed(found);
    return ended([...warnings, ...found], assertions, plan && { kind: "plan", plan });
  }
  const found = planProblems(planned.diagnostics, run.expectFailures);
  if (hasErrors(found) || plan === undefined) return failed(found);
  const applied = await engine.apply({
    state: target.state,
    plan,
    configuration,
    variables,
    parallelism,
    signal,
    forceSignal,
    onEvaluated,
  });
  const after = withoutExpected(applied.diagnostics, run.expectFailures);
  const isDone =
    applied.status === "applied" || applied.nodes.every(({ status }) => status === "done");
  if (hasErrors(after) || (!isDone && run.expectFailures.length === 0)) {
    return { ...failed([...found, ...after]), changedState: true };
  }
  const snapshot = await target.state.read();
  return {
    ...ended([...warnings, ...found, ...after], assertions, { kind: "state", snapshot }),
    changedState: true,
  };
}

function ended(
  diagnostics: readonly Diagnostic[],
  assertions: Assertions | undefined,
  detail: TestDetail | undefined,
): Outcome {
  return {
    status: assertions?.status ?? "pass",
    diagnostics: [...diagnostics, ...(assertions?.diagnostics ?? [])],
    assertions,
    ...(detail && { detail }),
  };
}

function optionsOf({ options }: TestRun): PlanOptions {
  return {
    mode: options.mode,
    read: options.refresh ? { kind: "always" } : { kind: "never" },
    replace: options.replace,
    targets: options.target,
  };
}

function notInstalled({ name, module }: TestRun): Diagnostic {
  return {
    severity: "error",
    code: "ENGINE_TEST",
    summary: "Module not installed",
    detail: `The module of the run "${name}" is not installed. Run "stackwright init".`,
    ...(module && { subject: module.range }),
  };
}
