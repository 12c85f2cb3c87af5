import { hasChanges, summarizePlan } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openReader } from "../session/session.ts";
import { planStacks, type SetOptions, type StackPlan } from "../stack-set/plan-stacks.ts";
import { setFolders } from "../stack-set/set-folders.ts";
import { showFailures, showSet } from "../stack-set/show-set.ts";

export interface StacksPlanOptions extends SetOptions {
  /** The exit code shows whether there are changes. */
  readonly detailedExitcode: boolean;
}

/** Shows what `stacks up` would do. */
export async function stacksPlan(
  words: readonly string[],
  options: StacksPlanOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const folders = setFolders(words, context);
  await using open = new AsyncDisposableStack();
  const session = await openReader(context, { ...options, stack: folders[0]?.stack ?? "" });
  if (session !== undefined) open.use(session);
  const { plans, failed } = await planStacks(folders, options, {
    context,
    session,
    saves: false,
    open,
  });
  if (options.json) context.terminal.write(documentOf(plans));
  else await showSet(plans, context, options);
  showFailures(failed, context, options);
  if (failed.size > 0) return EXIT.failed;
  const isSettled = plans.every(({ made }) => !hasChanges(made.plan) && !made.unresolved);
  return options.detailedExitcode && !isSettled ? EXIT.changes : EXIT.ok;
}

function documentOf(plans: readonly StackPlan[]): string {
  const stacks = plans.map(({ member, plan }) => ({
    stack: member.stack,
    folder: member.shown,
    has_changes: hasChanges(plan),
    ...summarizePlan(plan),
    inputs: plan.inputs.map(({ name, outputs, planned }) => ({
      stack: name,
      outputs,
      planned: planned !== undefined,
    })),
  }));
  return `${JSON.stringify({ stacks }, undefined, 2)}\n`;
}
