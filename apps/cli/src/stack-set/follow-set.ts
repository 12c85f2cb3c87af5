import { sleep, systemClock } from "@stackwright/base/clock";
import type { PlanSet, ServerClient } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { printable } from "../terminal/printable.ts";
import { outsideReaders } from "./outside-readers.ts";

/** What commands about plan sets of a server work with. */
export interface OpenSet {
  readonly client: ServerClient;
  readonly project: string;
  readonly context: CommandContext;
}

/** How often a set is looked at. */
const LOOK_MS = 500;

/** Follows a set until it has ended or waits for somebody, and says what becomes of its stacks. */
export async function followSet(
  { client, project, context }: OpenSet,
  first: PlanSet,
  json: boolean,
): Promise<PlanSet> {
  const { signal, terminal } = context;
  const shown = new Map<string, string>();
  for (let set = first; ; ) {
    for (const { stack, phase, waits_for: waitsFor } of set.stacks) {
      const text = waitsFor === undefined ? phase : `${phase}, waits for the plan of ${waitsFor}`;
      if (json || phase === "not_requested" || shown.get(stack) === text) continue;
      shown.set(stack, text);
      terminal.write(`  ${stack}: ${text}\n`);
    }
    if (set.phase !== "planning" && set.phase !== "applying") return set;
    const forbidden = set.stacks.find(({ phase }) => phase === "policy_failed");
    if (forbidden !== undefined) {
      throw new CommandError(
        `Policies forbid the plan of the stack "${project}/${forbidden.stack}".`,
        {
          advice: `Read why: stackwright runs show --stack ${project}/${forbidden.stack}. Who may let it pass does so there; the plan set ${set.id} waits for that.`,
        },
      );
    }
    await sleep(systemClock, LOOK_MS, signal);
    set = (await client.showPlanSet({ project, plan_set: set.id }, { signal })).data;
  }
}

/** With what else the user should know before an approval. */
export async function showPlans(open: OpenSet, set: PlanSet): Promise<void> {
  const { client, project, context } = open;
  const { signal, terminal } = context;
  const { text } = await client.renderPlanSet(
    { project, plan_set: set.id, form: "text" },
    { signal },
  );
  terminal.write(`\n${text}\n`);
  if (set.mode === "destroy" && set.phase === "awaiting_approval")
    terminal.writeError(await outsideReaders(open, set));
}

export async function isApproved(
  { stacks }: PlanSet,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  const count = stacks.filter(({ phase }) => phase === "awaiting_approval").length;
  const where = count === 1 ? "in one stack" : `in ${count} stacks`;
  const question = terminal.style.paint("strong", `Do this ${where}?`);
  const answer = await terminal.ask(`\n${question} Only "yes" is taken as a yes: `, { signal });
  return answer?.trim() === "yes";
}

export function noChanges({ context }: OpenSet, json: boolean): ExitCode {
  if (!json) context.terminal.write("No changes.\n");
  return EXIT.ok;
}

export function failed({ context }: OpenSet, { phase, reason = "", stacks }: PlanSet): ExitCode {
  const reasons = stacks.flatMap((one) =>
    one.reason === undefined ? [] : [`  ${one.stack}: ${one.phase}: ${one.reason}`],
  );
  for (const line of [`The plan set is ${phase}: ${reason}`, ...reasons]) {
    context.terminal.writeError(`${printable(line)}\n`);
  }
  return EXIT.failed;
}
