import type { PlanSet } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { ensureStack } from "../runs/ensure-stack.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { packWithModules } from "../runs/pack-configuration.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { withheldNote } from "../runs/withheld-note.ts";
import { approvalsText } from "./approvals-text.ts";
import { failed, followSet, isApproved, noChanges, type OpenSet, showPlans } from "./follow-set.ts";
import { setFolders } from "./set-folders.ts";

/** What the commands over several stacks are given where a server plans them. */
export interface ServerSetOptions extends ServerProjectOptions {
  readonly server: string;
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
    const set = await followSet(open, requested, options.json);
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
  return changeOnServer(words, "apply", options, context);
}

/** Plans the deletion of all objects of the stacks, and deletes them in their order once that is approved. */
export async function destroyOnServer(
  words: readonly string[],
  options: ServerProjectOptions & { readonly yes: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  return changeOnServer(words, "destroy", options, context);
}

/** Without a terminal, and where the project does not let who requests a set approve it, it ends where the set waits, with exit code 2. */
async function changeOnServer(
  words: readonly string[],
  mode: "apply" | "destroy",
  options: ServerProjectOptions & { readonly yes: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const open = { ...(await openServerProject(options, context)), context };
  return withServerErrors(open.client.server, async () => {
    const requested = await request(open, words, mode, false);
    const planned = await followSet(open, requested, false);
    if (planned.phase === "no_changes") return noChanges(open, false);
    if (planned.phase !== "awaiting_approval") return failed(open, planned);
    await showPlans(open, planned);
    const place = { project: open.project, plan_set: planned.id };
    if (planned.exclude_author || (!options.yes && !terminal.interactive)) {
      terminal.write(waiting(planned));
      return EXIT.changes;
    }
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
      terminal.write(
        `Approved. The plan set ${planned.id} has ${approvalsText(approved, Date.now())}; it is applied once it has all.\n`,
      );
      return EXIT.changes;
    }
    const ended = await followSet(open, approved, false);
    if (ended.phase !== "applied") return failed(open, ended);
    return EXIT.ok;
  });
}

/** What is to be done with a set that waits. */
function waiting({ id, exclude_author: others }: PlanSet): string {
  const by = others ? " by another person" : "";
  return `The plan set ${id} waits to be approved${by}: stackwright plan-sets approve ${id}\n`;
}

/** Uploads the folders and requests the set. */
async function request(
  { client, project, context }: OpenSet,
  words: readonly string[],
  mode: PlanSet["mode"],
  json: boolean,
): Promise<PlanSet> {
  const { signal, terminal } = context;
  const stacks: { stack: string; configuration: string }[] = [];
  for (const { stack, folder } of setFolders(words, context)) {
    const advice = `Move it into the repository, or request a run of this stack by itself: stackwright runs start ${folder} --root FOLDER`;
    const packed = await packWithModules(folder, undefined, signal, advice);
    if (packed.withheld.length > 0) terminal.writeError(withheldNote(packed.withheld));
    const place = { project, stack };
    // What is to be destroyed has to be there: a name that is mistaken is refused.
    if (mode !== "destroy") await ensureStack({ client, place, context }, json);
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
