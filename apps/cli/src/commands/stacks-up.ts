import { hasChanges, type RunPhase } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { HumanRenderer } from "../render/human-renderer.ts";
import { applyPlan } from "../session/apply-plan.ts";
import { openWriter } from "../session/session.ts";
import { mirrorState } from "../session/state-mirror.ts";
import { planStacks, type SetOptions, type StackPlan } from "../stack-set/plan-stacks.ts";
import { setFolders } from "../stack-set/set-folders.ts";
import { headOf } from "../stack-set/set-head.ts";
import { showFailures, showSet } from "../stack-set/show-set.ts";
import { cannotAsk } from "../terminal/cannot-ask.ts";

export interface StacksUpOptions extends SetOptions {
  /** Apply without asking. */
  readonly yes: boolean;
}

/** Plans several stacks together, asks once, and applies the plans in their order. The first that does not end as applied ends all. */
export async function stacksUp(
  words: readonly string[],
  options: StacksUpOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const folders = setFolders(words, context);
  const [first] = folders;
  await using open = new AsyncDisposableStack();
  const session = open.use(await openWriter(context, { ...options, stack: first?.stack ?? "" }));
  const { plans, failed } = await planStacks(folders, options, {
    context,
    session,
    saves: true,
    open,
  });
  const changing = plans.filter(({ plan }) => hasChanges(plan));
  if (failed.size > 0) {
    showFailures(failed, context, options);
    await moveAll(changing, "planned", "discarded");
    context.terminal.write("Nothing was done: each of the stacks has to have a plan.\n");
    return EXIT.failed;
  }
  await showSet(plans, context, options);
  if (changing.length > 0 && !options.yes) {
    await moveAll(changing, "planned", "awaiting_approval");
    const discard = async () => moveAll(changing, "awaiting_approval", "discarded");
    const approved = await isApproved(changing.length, options, context).catch(
      async (error: unknown) => {
        await discard();
        throw error;
      },
    );
    if (!approved) {
      await discard();
      context.terminal.write("Nothing was done.\n");
      return EXIT.failed;
    }
  }
  await approveAll(changing, options.yes ? "planned" : "awaiting_approval");
  const waiting = new Set(changing);
  try {
    for (const one of plans) {
      waiting.delete(one);
      const code = await applyMember(one, options);
      if (code === EXIT.ok) continue;
      reportRest(one, waiting, context);
      return code;
    }
    return plans.some(({ made }) => made.unresolved) ? EXIT.failed : EXIT.ok;
  } finally {
    await moveAll([...waiting], "approved", "discarded");
  }
}

/** Applies the plan of one stack; one that changes nothing may still have to be recorded. */
async function applyMember(one: StackPlan, options: StacksUpOptions): Promise<ExitCode> {
  const { member, plan, made, engine, project, session, context, run } = one;
  if (session === undefined) return EXIT.failed;
  using view = new HumanRenderer(context.terminal, options);
  const silent = !hasChanges(plan);
  if (silent && !plan.changes.some(({ mode, record }) => record && mode === "managed")) {
    await engine.noteUses(session.state);
    return EXIT.ok;
  }
  if (!silent) context.terminal.write(headOf(member, context.terminal));
  const code = await applyPlan(made, {
    options: one.options,
    context,
    project,
    engine,
    session,
    view,
    silent,
    ...(run && !silent && { id: run.id }),
  });
  await mirrorState(session, context);
  return code;
}

function reportRest(
  { member }: StackPlan,
  waiting: ReadonlySet<StackPlan>,
  { terminal }: CommandContext,
): void {
  if (waiting.size === 0) return;
  const names = [...waiting].map((one) => one.member.stack).join(", ");
  terminal.writeError(
    `The stack ${member.stack} was not applied, so that nothing was done in ${names}. Run the command again to plan what is left.\n`,
  );
}

/** Brings the runs of plans to another phase, all or none. */
async function moveAll(
  plans: readonly StackPlan[],
  from: RunPhase,
  to: "awaiting_approval" | "approved" | "discarded",
): Promise<void> {
  const runs = plans.flatMap(({ session, run }) =>
    session !== undefined && run !== undefined
      ? [{ stack: session.stack.reference, id: run.id }]
      : [],
  );
  await plans[0]?.session?.moveRuns(runs, { from, to });
}

/** Approves all plans; where that fails, none stays approved. */
async function approveAll(
  plans: readonly StackPlan[],
  from: "planned" | "awaiting_approval",
): Promise<void> {
  try {
    await moveAll(plans, from, "approved");
  } catch (error) {
    // Each by itself: a part may have been approved, and one may be what failed.
    const ends = plans.flatMap((one) => [
      moveAll([one], "approved", "discarded"),
      moveAll([one], from, "discarded"),
    ]);
    await Promise.allSettled(ends);
    throw error;
  }
}

async function isApproved(
  count: number,
  options: StacksUpOptions,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  if (!terminal.interactive || !options.input) {
    throw cannotAsk(terminal, {
      need: "Approval is required to apply the plans",
      advice: "Use --yes.",
      input: options.input,
    });
  }
  const where = count === 1 ? "in one stack" : `in ${count} stacks`;
  const question = terminal.style.paint("strong", `Do this ${where}?`);
  const answer = await terminal.ask(`\n${question} Only "yes" is taken as a yes: `, { signal });
  return answer?.trim() === "yes";
}
