import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { RunRenderer } from "../render/run-renderer.ts";
import type { MadePlan } from "./create-plan.ts";
import { type CommandImport, ofImport } from "./import-block.ts";
import type { CommandEngine } from "./open-engine.ts";
import type { Project } from "./project.ts";
import { type PlanningOptions, parallelismOf } from "./run-options.ts";
import type { StackSession } from "./session.ts";
import { acquireStackLock } from "./stack-lock.ts";
import { stalePlanError } from "./stale-plan-error.ts";

/** What a command applies plans with. */
export interface ApplyGround {
  readonly options: Pick<PlanningOptions, "parallelism" | "lockTimeout"> & {
    readonly importing?: CommandImport;
  };
  readonly context: CommandContext;
  readonly project: Project;
  readonly engine: CommandEngine;
  readonly session: StackSession;
  readonly view: RunRenderer;
  /** The run that the plan was created for; that of a saved plan begins when it is applied. */
  readonly id?: string;
  /** The file of a saved plan, as the user named it. */
  readonly planFile?: string;
  /** Shows only the failures of an apply. */
  readonly silent?: boolean;
}

/** Applies an approved plan under the stack lock, and shows how that goes. */
export async function applyPlan(
  { plan, variables, documents }: Omit<MadePlan, "unresolved">,
  run: ApplyGround,
): Promise<ExitCode> {
  const { engine, project, session, options, context, view } = run;
  const made = session.newRun();
  await using hold = await acquireStackLock(session, options, context).catch(
    async (error: unknown) => {
      if (run.id !== undefined) {
        const reason = "another run holds the stack lock";
        const runs = session.runsOf(session.stack.reference);
        await runs.transition(run.id, "approved", "discarded", { reason });
      }
      throw error;
    },
  );
  const onStop = (): void => {
    view.stopping();
  };
  context.signal.addEventListener("abort", onStop, { once: true });
  try {
    if (run.silent !== true) view.begin(plan);
    const result = await engine.apply({
      state: session.state,
      hold,
      run: run.id ?? made.id,
      cause: made.cause,
      documents,
      plan,
      configuration: project.configuration,
      variables,
      parallelism: parallelismOf(options),
      signal: context.signal,
      forceSignal: context.forceSignal,
      ...(run.silent !== true && { onEvent: view.onApplying }),
    });
    const { importing } = options;
    const diagnostics =
      importing === undefined
        ? result.diagnostics
        : result.diagnostics.flatMap((one) => ofImport(one, importing));
    if (run.silent !== true || result.status !== "applied")
      view.applied({ ...result, diagnostics });
    await engine.noteUses(session.state);
    if (result.status === "canceled") return EXIT.interrupted;
    return result.status === "applied" ? EXIT.ok : EXIT.failed;
  } catch (error) {
    throw await stalePlanError(error, plan, session, run.planFile);
  } finally {
    context.signal.removeEventListener("abort", onStop);
  }
}
