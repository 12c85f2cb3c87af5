import { randomBytes } from "node:crypto";
import { EvaluationState, loadStateIntoContext } from "@stackwright/core";
import type { Value } from "@stackwright/cty";
import {
  checkExpression,
  consoleEntries,
  consoleScope,
  type Diagnostic,
  type EvaluationScope,
  type Expression,
  expressionContinues,
  runConsole,
} from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { ShownState } from "../render/shown-state.ts";
import { plannedValues } from "../session/planned-values.ts";
import {
  loadProject,
  type Project,
  readVariables,
  type VariableInput,
} from "../session/project.ts";
import { recordedSchemas } from "../session/recorded-schemas.ts";
import { warnOfUnadopted } from "../session/require-adopted.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";
import { readUnplanned } from "../session/unplanned-values.ts";
import { snapshotOf } from "./show.ts";

export interface ConsoleOptions extends StoreOptions {
  /** Each answer is one line of JSON. */
  readonly json: boolean;
  /** Over what a plan leads to, instead of the recorded state. */
  readonly plan: boolean;
  readonly inputs: readonly VariableInput[];
}

/** Answers expressions over the configuration and what is recorded; without a configuration over functions alone. */
export async function consoleCommand(
  options: ConsoleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return answerExpressions(await groundOf(options, context), options, context);
}

/** What expressions are evaluated over. */
interface Ground {
  readonly scope: EvaluationScope;
  readonly check?: (expression: Expression) => readonly Diagnostic[];
}

async function groundOf(options: ConsoleOptions, context: CommandContext): Promise<Ground> {
  const project = await loadProject(context, undefined, options);
  const { configuration } = project;
  showDiagnostics(context.terminal, configuration.diagnostics);
  if (configuration.graph.order.length === 0) {
    return { scope: consoleScope({ files: project.files, now: () => new Date(), randomBytes }) };
  }
  const { values, diagnostics } = await readVariables(project, options.inputs, context, {
    input: true,
  });
  showDiagnostics(context.terminal, diagnostics);
  const world = new EvaluationState({
    root: configuration.root,
    variables: values,
    workspace: stackName(context, options),
    host: { maxStringLength: 32 * 1024 * 1024, now: () => new Date(), randomBytes },
    applying: false,
    missing: "lenient",
  });
  if (options.plan) {
    loadStateIntoContext(world, await plannedValues(project, options, context));
    return completeGround(world, project, context);
  }
  const session = await openReader(context, options);
  try {
    await warnOfUnadopted(session, options, context, "Its objects are unknown to the console.");
    const snapshot = await snapshotOf(session, context);
    const { objects } = snapshot;
    const current = [...objects.values()].filter(({ deposed }) => deposed === "");
    const schemaOf = await recordedSchemas(current, project, context);
    // What repeats a secret is sensitive here as well: nonsensitive() shows it.
    const shown = new ShownState(snapshot, { schemaOf, secrets: "hidden" });
    const recorded = current.flatMap((object): [string, Value][] => {
      const value = shown.value(object);
      return value === undefined ? [] : [[object.address, value]];
    });
    loadStateIntoContext(world, recorded);
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  return completeGround(world, project, context);
}

/** Adds what is known of resources without objects. */
async function completeGround(
  world: EvaluationState,
  project: Project,
  context: CommandContext,
): Promise<Ground> {
  const { values, schemaOf } = await readUnplanned(world, project, context);
  loadStateIntoContext(world, values);
  const { root } = project.configuration;
  return {
    scope: world.root.scope.forInstance({}),
    check: (expression) =>
      checkExpression(root, expression, { schemaOf: (_module, resource) => schemaOf(resource) }),
  };
}

/**
 * Answers the expressions of standard input. An open bracket or heredoc continues on the next line; with `--json` each line is an
 * expression, so that programs get one answer per line. A user at a terminal gets a prompt; `exit` ends it, also in a script.
 */
export async function answerExpressions(
  ground: Ground,
  { json }: Pick<ConsoleOptions, "json">,
  { terminal }: Pick<CommandContext, "terminal">,
): Promise<ExitCode> {
  const isPrompted = terminal.interactive && terminal.redraws && !json;
  const given = isPrompted
    ? terminal.promptedEntries("> ", expressionContinues)
    : json
      ? terminal.lines()
      : consoleEntries(terminal.lines());
  let failed = false;
  for await (const answer of runConsole(untilExit(given), ground)) {
    terminal.write(`${json ? answer.json : answer.text}\n`);
    failed ||= answer.diagnostics.some(({ severity }) => severity === "error");
  }
  return failed && !isPrompted && !json ? EXIT.failed : EXIT.ok;
}

/** The entries before one that ends the console. */
async function* untilExit(entries: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const entry of entries) {
    if (entry.trim() === "exit") return;
    yield entry;
  }
}
