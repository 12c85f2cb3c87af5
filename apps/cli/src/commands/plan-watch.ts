import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { type Plan, PlanMemory } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { makePlan } from "../session/create-plan.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { type CommandEngine, openEngine } from "../session/open-engine.ts";
import { loadProject, type Project, requireConfiguration } from "../session/project.ts";
import { readOnlyState } from "../session/read-only-state.ts";
import { requireAdopted } from "../session/require-adopted.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import { schemasOf } from "../session/schemas-of.ts";
import { openReader, parseDuration } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";
import { WatchedFiles } from "../session/watched-files.ts";
import { printable } from "../terminal/printable.ts";

/** How long real objects that were read are not read again. */
const READ_AGE_MS = 10 * 60_000;

/**
 * Plans, and plans again whenever a file changes, until the signal. A plan after the first one costs what has changed. Of what a
 * user does outside of the files the recorded state is read for each plan; real objects are read again when they were not
 * for ten minutes, or `--refresh-age`.
 */
export async function planWatch(
  options: PlanningOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  if (options.json) throw new CommandError("--watch writes text: it does not go with --json.");
  const age = options.refreshAge === undefined ? READ_AGE_MS : parseDuration(options.refreshAge);
  const memory = new PlanMemory({ readAgeMs: age });
  await using opened = new OpenedPlanning(options, context);
  using files = new WatchedFiles();
  const { inputs, stack } = options;
  const early = { inputs, ...(stack !== undefined && { stack }) };
  let project = await loadProject(context, undefined, early);
  requireConfiguration(project);
  try {
    for (;;) {
      files.follow(project);
      const begun = systemClock.monotonicMs();
      const plan = await opened.plan(project, memory);
      const summary = summaryOf(plan, memory, systemClock.monotonicMs() - begun);
      if (plan !== undefined) files.follow(project, plan.files);
      terminal.writeError(`${summary}\nWaiting for changes of files; Ctrl-C ends.\n`);
      const names = await files.changed(signal);
      terminal.write(`\n--- ${printable(names.join(", "))} ---\n\n`);
      project = await loadProject(context, undefined, { ...early, quiet: true });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return EXIT.interrupted;
  }
}

function summaryOf(plan: Plan | undefined, memory: PlanMemory, tookMs: number): string {
  const seconds = `${(tookMs / 1_000).toFixed(2)} s`;
  if (plan === undefined) return `No plan (${seconds}).`;
  const { planned, instances } = memory.effort;
  return `Planned in ${seconds}: ${planned} of ${instances} ${instances === 1 ? "instance" : "instances"}, the others as before.`;
}

/** What stays open between two plans: the store, and an engine with its providers. */
class OpenedPlanning implements AsyncDisposable {
  readonly #options: PlanningOptions;
  readonly #context: CommandContext;
  #session: Awaited<ReturnType<typeof openReader>>;
  #engine:
    | {
        readonly key: string;
        readonly session: Awaited<ReturnType<typeof openReader>>;
        readonly engine: CommandEngine;
      }
    | undefined;

  constructor(options: PlanningOptions, context: CommandContext) {
    this.#options = options;
    this.#context = context;
  }

  /** Makes a plan and shows it, or what is wrong. */
  async plan(project: Project, memory: PlanMemory): Promise<Plan | undefined> {
    const options = this.#options;
    const context = this.#context;
    await requireAdopted(project, options, context);
    using view = new HumanRenderer(context.terminal, options);
    const session = await this.#openSession();
    refuseHandedBack(session?.stack);
    const state = readOnlyState(session?.stack && session.stateOf(session.stack));
    const workspace = stackName(context, options);
    const engine = await this.#openEngine(project, session, async () =>
      openEngine(project, context, {
        state,
        session,
        registry: options.registry,
        remembersDigests: true,
      }),
    );
    const { refreshAge: _, ...planning } = options;
    const made = await makePlan(
      { engine, project, state, workspace, memory },
      planning,
      view,
      context,
    );
    if (made === undefined) return undefined;
    view.planned(made.plan, await schemasOf(engine, made.plan));
    return made.plan;
  }

  /** A store, or a stack in it, that was not there for the last plan may be there now. */
  async #openSession(): Promise<Awaited<ReturnType<typeof openReader>>> {
    if (this.#session?.stack !== undefined) return this.#session;
    await this.#session?.[Symbol.asyncDispose]();
    this.#session = undefined;
    this.#session = await openReader(this.#context, this.#options);
    return this.#session;
  }

  /** Other providers need another engine: with the same ones its programs go on. */
  async #openEngine(
    project: Project,
    session: Awaited<ReturnType<typeof openReader>>,
    open: () => Promise<CommandEngine>,
  ): Promise<CommandEngine> {
    const { resolution } = project.configuration;
    const lock = await readFile(join(project.directory, ".terraform.lock.hcl"), "utf8").catch(
      () => "",
    );
    const required = [...resolution.requirements].map(
      ([source, { constraints }]) => `${source} ${constraints.toString()}`,
    );
    const key = JSON.stringify([required, [...project.joined], lock]);
    if (this.#engine?.key === key && this.#engine.session === session) return this.#engine.engine;
    await this.#engine?.engine[Symbol.asyncDispose]();
    this.#engine = undefined;
    const engine = await open();
    this.#engine = { key, session, engine };
    return engine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine?.engine[Symbol.asyncDispose]();
    await this.#session?.[Symbol.asyncDispose]();
  }
}
