import type { Run } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import {
  findRun,
  openServerStack,
  type ServerStack,
  type ServerStackOptions,
} from "../runs/run-place.ts";
import { phaseText } from "../runs/run-text.ts";
import { humanRunView } from "../runs/run-view.ts";
import { cannotAsk } from "../terminal/cannot-ask.ts";
import { planTextOf } from "./runs-show.ts";

/** Approves the plan of a run: the one that is shown, or the one with a given digest. */
export async function runsApprove(
  text: string | undefined,
  options: ServerStackOptions & {
    readonly yes: boolean;
    readonly planDigest?: string;
    readonly comment?: string;
  },
  context: CommandContext,
): Promise<ExitCode> {
  const { comment } = options;
  return decide(text, options, context, async (server, run) => {
    const digest = options.planDigest ?? (await approvedDigest(server, run, options));
    const body = { plan_digest: digest, ...(comment !== undefined && { comment }) };
    const { signal } = context;
    return (await server.client.approveRun({ ...server.place, run: run.id, body }, { signal }))
      .data;
  });
}

/** Gives the plan of a run up. */
export async function runsDiscard(
  text: string | undefined,
  options: ServerStackOptions & { readonly reason?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { reason } = options;
  return decide(text, options, context, async ({ client, place }, run) => {
    const body = reason === undefined ? {} : { reason };
    const { signal } = context;
    return (await client.discardRun({ ...place, run: run.id, body }, { signal })).data;
  });
}

/** Cancels a run; with `force` its executor is ended at once. */
export async function runsCancel(
  text: string | undefined,
  options: ServerStackOptions & { readonly force: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  return decide(text, options, context, async ({ client, place }, run) => {
    const body = options.force ? { force: true } : {};
    const { signal } = context;
    return (await client.cancelRun({ ...place, run: run.id, body }, { signal })).data;
  });
}

/** Makes a decision about a run, and shows the run after it. */
async function decide(
  text: string | undefined,
  options: ServerStackOptions,
  context: CommandContext,
  act: (server: ServerStack, run: Run) => Promise<Run>,
): Promise<ExitCode> {
  const { terminal } = context;
  const server = await openServerStack(options, context);
  return withServerErrors(server.client.server, async () => {
    const run = await act(server, await findRun(server, text));
    if (options.json) {
      terminal.write(`${JSON.stringify(run, undefined, 2)}\n`);
      return EXIT.ok;
    }
    const canceled = run.cancel === undefined ? "" : "; cancel is requested";
    terminal.write(`${phaseText(run.number, run.phase)}${canceled}.\n`);
    return EXIT.ok;
  });
}

/** Shows the plan of a run and asks; the digest of what was shown. */
async function approvedDigest(
  server: ServerStack,
  run: Run,
  { yes, json }: { readonly yes: boolean; readonly json: boolean },
): Promise<string> {
  const { terminal, signal } = server.context;
  const text = await planTextOf(server, run);
  const { digest } = JSON.parse(text ?? "{}") as { readonly digest?: string };
  if (text === undefined || digest === undefined) {
    throw new CommandError(`${phaseText(run.number, run.phase)} and has no plan to approve.`);
  }
  if (yes) return digest;
  if (!terminal.interactive || json) {
    throw cannotAsk(terminal, {
      need: "Approval is required",
      advice: "Use --yes to approve the present plan, or --plan-digest DIGEST to approve that one.",
      json,
    });
  }
  humanRunView(terminal, run).plan(text);
  const question = terminal.style.paint("strong", "Apply this plan?");
  const answer = await terminal.ask(`${question} Only "yes" is taken as a yes: `, { signal });
  if (answer?.trim() !== "yes") throw new CommandError("The plan was not approved.");
  return digest;
}
