import { runCommand } from "./command.ts";
import { type Platform, StartFailure } from "./platform.ts";

const STACK = "server-run";

/** A run as `stackwright runs` shows it to programs. */
interface ServerRun {
  readonly id: string;
  readonly number: number;
  readonly phase: string;
  readonly auto_apply: boolean;
}

/** Phases in which a run without an approval holds up the runs after it. */
const BEFORE_APPROVAL = new Set([
  "queued",
  "preparing",
  "planning",
  "planned",
  "awaiting_approval",
]);

/**
 * Requests a run of the server that waits for an approval, and shows where: in the console, at an address that signs a browser in, or in this
 * terminal. Whether it was applied, or had nothing to do.
 *
 * @param addressOf the address of a page of the console, with what signs in
 */
export async function deployWithApproval(
  platform: Platform,
  stop: AbortController,
  addressOf: (page: string) => Promise<string>,
): Promise<boolean> {
  const words = ["runs", "start", STACK, "--stack", STACK, "--detach", "--json"];
  const requested = await runCommand(platform, words, { stop, silent: true });
  if (requested.code !== 0)
    throw new StartFailure(`The server did not take the run: ${requested.error}`);
  const { id, number } = JSON.parse(requested.output) as ServerRun;
  const address = await addressOf(`p/default/s/${STACK}/r/${id}`);
  process.stdout.write(`Run ${number} changes nothing before you approve it: read its plan and choose "Approve…" at

  ${address}

(signs a browser in once, within ten minutes), or type yes below.\n\n`);
  const follow = ["runs", "logs", String(number), "--follow", "--stack", STACK];
  return (await runCommand(platform, follow, { stop, follows: true })).code === 0;
}

/** Cancels a run that an earlier start left waiting for its approval: this one uploads the folder as it is now. */
export async function cancelWaitingRun(platform: Platform, stop: AbortController): Promise<void> {
  const silent = { stop, silent: true };
  const list = await runCommand(platform, ["runs", "list", "--stack", STACK, "--json"], silent);
  // Before the first start there is no such stack.
  if (list.code !== 0) return;
  for (const { number, phase, auto_apply: isSure } of JSON.parse(list.output) as ServerRun[]) {
    if (isSure || !BEFORE_APPROVAL.has(phase)) continue;
    const words = ["runs", "cancel", String(number), "--stack", STACK];
    const { code } = await runCommand(platform, words, silent);
    if (code === 0)
      process.stdout.write(`Run ${number} of an earlier start is canceled: it waited for you.\n`);
  }
}
