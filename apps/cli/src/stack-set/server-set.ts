import { sleep, systemClock } from "@stackwright/base/clock";
import type { PlanSet, ServerClient } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { ensureStack } from "../runs/ensure-stack.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { packWithModules } from "../runs/pack-configuration.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { withheldNote } from "../runs/withheld-note.ts";
import { setFolders } from "./set-folders.ts";

/** What the commands over several stacks are given where a server plans them. */
export interface ServerSetOptions extends ServerProjectOptions {
  readonly server: string;
}

interface OpenSet {
  readonly client: ServerClient;
  readonly project: string;
  readonly context: CommandContext;
}

/** Uploads the folders of the stacks and shows the plans that the server makes of them together. */
export async function planOnServer(
  words: readonly string[],
  options: ServerSetOptions & { readonly detailedExitcode: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const open = { ...(await openServerProject(options, context)), context };
  return withServerErrors(open.client.server, async () => {
    const requested = await request(open, words, "plan_only", options.json);
    const set = await follow(open, requested, options.json);
    if (options.json) context.terminal.write(`${JSON.stringify(set, undefined, 2)}\n`);
    if (set.phase === "no_changes") return noChanges(open, options.json);
    if (set.phase !== "plan_finished") return failed(open, set);
    if (!options.json) await showPlans(open, set);
    return options.detailedExitcode ? EXIT.changes : EXIT.ok;
  });
}

/** The same, and applies the plans in their order once they are approved. */
export async function upOnServer(
  words: readonly string[],
  options: ServerSetOptions & { readonly yes: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  if (!options.yes && !terminal.interactive) {
    throw new CommandError(
      "Approval is required to apply the plans, but the input is not a terminal.",
      { advice: "Use --yes." },
    );
  }
  const open = { ...(await openServerProject(options, context)), context };
  return withServerErrors(open.client.server, async () => {
    const requested = await request(open, words, "apply", false);
    const planned = await follow(open, requested, false);
    if (planned.phase === "no_changes") return noChanges(open, false);
    if (planned.phase !== "awaiting_approval") return failed(open, planned);
    await showPlans(open, planned);
    const place = { project: open.project, plan_set: planned.id };
    if (!options.yes && !(await isApproved(planned, context))) {
      await open.client.discardPlanSet({ ...place, body: {} }, { signal });
      terminal.write("Nothing was done.\n");
      return EXIT.failed;
    }
    const { digest = "" } = planned;
    const { data: approved } = await open.client.approvePlanSet(
      { ...place, body: { digest } },
      { signal },
    );
    if (approved.phase === "awaiting_approval") {
      const { approvals, required_approvals: required } = approved;
      terminal.write(
        `Approved. The plan set ${planned.id} has ${approvals.length} of ${required} approvals; it is applied once it has all.\n`,
      );
      return EXIT.changes;
    }
    const ended = await follow(open, approved, false);
    if (ended.phase !== "applied") return failed(open, ended);
    return EXIT.ok;
  });
}

/** Uploads the folders and requests the set. */
async function request(
  { client, project, context }: OpenSet,
  words: readonly string[],
  mode: "apply" | "plan_only",
  json: boolean,
): Promise<PlanSet> {
  const { signal, terminal } = context;
  const stacks: { stack: string; configuration: string }[] = [];
  for (const { stack, folder } of setFolders(words, context)) {
    const packed = await packWithModules(folder, undefined, signal);
    if (packed.withheld.length > 0) terminal.writeError(withheldNote(packed.withheld));
    const place = { project, stack };
    await ensureStack({ client, place, context }, json);
    // An hour, as the server allows it.
    const { data } = await client.createConfiguration(
      { ...place, body: packed.content, ...(packed.root !== "" && { root: packed.root }) },
      { signal, timeoutMs: 3_600_000 },
    );
    stacks.push({ stack, configuration: data.digest });
  }
  const { data: set } = await client.createPlanSet({ project, body: { stacks, mode } }, { signal });
  if (!json) terminal.write(`Plan set ${set.id} of ${stacks.length} stacks\n`);
  return set;
}

/** How often a set is looked at. */
const LOOK_MS = 500;

/** Follows a set until it has ended or waits for somebody, and says what becomes of its stacks. */
async function follow(
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

async function showPlans({ client, project, context }: OpenSet, set: PlanSet): Promise<void> {
  const { signal, terminal } = context;
  const { text } = await client.renderPlanSet(
    { project, plan_set: set.id, form: "text" },
    { signal },
  );
  terminal.write(`\n${text}\n`);
}

async function isApproved(
  { stacks }: PlanSet,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  const count = stacks.filter(({ phase }) => phase === "awaiting_approval").length;
  const where = count === 1 ? "in one stack" : `in ${count} stacks`;
  const question = terminal.style.paint("strong", `Do this ${where}?`);
  const answer = await terminal.ask(`\n${question} Only "yes" is taken as a yes: `, { signal });
  return answer?.trim() === "yes";
}

function noChanges({ context }: OpenSet, json: boolean): ExitCode {
  if (!json) context.terminal.write("No changes.\n");
  return EXIT.ok;
}

function failed({ context }: OpenSet, { phase, reason = "", stacks }: PlanSet): ExitCode {
  const reasons = stacks.flatMap((one) =>
    one.reason === undefined ? [] : [`  ${one.stack}: ${one.phase}: ${one.reason}\n`],
  );
  context.terminal.writeError(`The plan set is ${phase}: ${reason}\n${reasons.join("")}`);
  return EXIT.failed;
}
