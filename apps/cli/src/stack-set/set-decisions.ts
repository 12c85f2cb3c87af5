import type { PlanSet } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { approvalFacts } from "../runs/approval-facts.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { cannotAsk } from "../terminal/cannot-ask.ts";
import { printable } from "../terminal/printable.ts";
import { approvalsText } from "./approvals-text.ts";
import { failed, followSet, isApproved, type OpenSet, showPlans } from "./follow-set.ts";

/** Lists the latest plan sets of a project. */
export async function planSetsList(
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return withSets(options, context, async ({ client, project }) => {
    const { data } = await client.listPlanSets({ project, limit: 50 }, { signal: context.signal });
    const sets = data.plan_sets;
    if (options.json) context.terminal.write(`${JSON.stringify(sets, undefined, 2)}\n`);
    else if (sets.length === 0) context.terminal.write("The project has no plan sets.\n");
    else for (const set of sets) context.terminal.write(`${lineOf(set)}\n`);
    return EXIT.ok;
  });
}

/** Shows a plan set with the plans of its stacks. */
export async function planSetsShow(
  id: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return withSets(options, context, async (open) => {
    const set = await find(open, id);
    if (options.json) {
      context.terminal.write(`${JSON.stringify(set, undefined, 2)}\n`);
      return EXIT.ok;
    }
    context.terminal.write(`${lineOf(set)}\n`);
    for (const [name, value] of approvalFacts(set, Date.now())) {
      if (value !== undefined) context.terminal.write(`${printable(`  ${name}: ${value}`)}\n`);
    }
    if (set.reason !== undefined) context.terminal.write(`${printable(`  ${set.reason}`)}\n`);
    for (const { stack, phase, reason } of set.stacks) {
      const why = reason === undefined ? "" : `: ${reason}`;
      context.terminal.write(`${printable(`  ${stack}: ${phase}${why}`)}\n`);
    }
    if (set.digest !== undefined) await showPlans(open, set);
    return EXIT.ok;
  });
}

/** Shows the plans of a set, asks, approves exactly these, and follows what is applied. */
export async function planSetsApprove(
  id: string,
  options: ServerProjectOptions & { readonly yes: boolean; readonly comment?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  return withSets(options, context, async (open) => {
    const set = await find(open, id);
    const { digest, phase } = set;
    if (digest === undefined || phase !== "awaiting_approval") {
      throw new CommandError(`The plan set ${id} is ${phase}: there is nothing to approve.`);
    }
    if (!options.yes) {
      if (!terminal.interactive || options.json) {
        throw cannotAsk(terminal, {
          need: "Approval is required to apply the plans",
          advice: "Use --yes.",
          json: options.json,
        });
      }
      await showPlans(open, set);
      if (!(await isApproved(set, context))) {
        terminal.write("The plan set was not approved; it waits.\n");
        return EXIT.failed;
      }
    }
    const { comment } = options;
    const body = { digest, ...(comment !== undefined && { comment }) };
    const place = { project: open.project, plan_set: set.id };
    const { data: approved } = await open.client.approvePlanSet({ ...place, body }, { signal });
    if (approved.phase === "awaiting_approval") {
      write(open, options, approved, `It has ${approvalsText(approved, Date.now())}.`);
      return EXIT.ok;
    }
    const ended = await followSet(open, approved, options.json);
    if (ended.phase !== "applied") return failed(open, ended);
    write(open, options, ended, "All stacks are applied.");
    return EXIT.ok;
  });
}

/** Ends a set: before its approval, or in the middle of what is applied. */
export async function planSetsEnd(
  id: string,
  how: "discard" | "cancel",
  options: ServerProjectOptions & { readonly reason?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { signal } = context;
  return withSets(options, context, async (open) => {
    const place = { project: open.project, plan_set: id };
    const body = options.reason === undefined ? {} : { reason: options.reason };
    const { data } =
      how === "discard"
        ? await open.client.discardPlanSet({ ...place, body }, { signal })
        : await open.client.cancelPlanSet({ ...place, body: {} }, { signal });
    write(open, options, data, `The plan set ${data.id} is ${data.phase}.`);
    return EXIT.ok;
  });
}

async function withSets(
  options: ServerProjectOptions,
  context: CommandContext,
  work: (open: OpenSet) => Promise<ExitCode>,
): Promise<ExitCode> {
  const open = { ...(await openServerProject(options, context)), context };
  return withServerErrors(open.client.server, async () => work(open));
}

async function find({ client, project, context }: OpenSet, id: string): Promise<PlanSet> {
  return (await client.showPlanSet({ project, plan_set: id }, { signal: context.signal })).data;
}

function write(
  { context: { terminal } }: OpenSet,
  { json }: ServerProjectOptions,
  set: PlanSet,
  text: string,
): void {
  terminal.write(json ? `${JSON.stringify(set, undefined, 2)}\n` : `${printable(text)}\n`);
}

function lineOf({ id, phase, actor, stacks, created_at: at, message }: PlanSet): string {
  const names = stacks.map(({ stack }) => stack).join(" ");
  return printable(`${id}  ${phase}  ${names}  by ${actor}, ${at}${message && `: ${message}`}`);
}
