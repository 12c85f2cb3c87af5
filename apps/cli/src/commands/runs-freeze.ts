import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { findRun, openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { parseDuration } from "../session/session.ts";

/** Options of the commands that freeze. */
export interface FreezeOptions extends ServerStackOptions {
  /** All stacks of the project. */
  readonly wholeProject: boolean;
  readonly reason?: string;
  readonly expires?: string;
}

/** Freezes a stack or a project on a server: plans are made, and none begins to be applied. */
export async function runsFreeze(
  options: FreezeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { expires, wholeProject } = options;
  const reason = requireReason(options.reason, "A freeze");
  const seconds = expires === undefined ? undefined : Math.ceil(parseDuration(expires) / 1_000);
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const body = { reason, ...(seconds !== undefined && { expires_in_seconds: seconds }) };
    const { data } = wholeProject
      ? await client.freezeProject({ project: place.project, body }, { signal })
      : await client.freezeStack({ ...place, body }, { signal });
    const until = data.until === undefined ? "" : ` until ${data.until}`;
    context.terminal.write(
      options.json
        ? `${JSON.stringify(data, undefined, 2)}\n`
        : `${nameOf(place, wholeProject)} is frozen${until}.\n`,
    );
    return EXIT.ok;
  });
}

/** Ends the freeze of a stack or a project on a server. */
export async function runsUnfreeze(
  options: FreezeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { wholeProject } = options;
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    if (wholeProject) await client.unfreezeProject({ project: place.project }, { signal });
    else await client.unfreezeStack(place, { signal });
    context.terminal.write(
      options.json ? "{}\n" : `${nameOf(place, wholeProject)} is not frozen.\n`,
    );
    return EXIT.ok;
  });
}

/** Lets a run apply although its stack or project is frozen. */
export async function runsOverrideFreeze(
  text: string,
  options: ServerStackOptions & { readonly reason?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const reason = requireReason(options.reason, "An override");
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const { id, number } = await findRun(found, text);
    const at = { ...place, run: id, body: { reason } };
    const { data } = await client.overrideFreeze(at, { signal: context.signal });
    context.terminal.write(
      options.json
        ? `${JSON.stringify(data, undefined, 2)}\n`
        : `Run ${number} may be applied during a freeze.\n`,
    );
    return EXIT.ok;
  });
}

function requireReason(reason: string | undefined, what: string): string {
  if (reason !== undefined && reason !== "") return reason;
  throw new CommandError(`${what} needs a reason, which is shown to other users.`, {
    advice: 'Say it with --reason "audit until Friday".',
  });
}

function nameOf(
  { project, stack }: { readonly project: string; readonly stack: string },
  wholeProject: boolean,
): string {
  return wholeProject ? `The project "${project}"` : `The stack "${project}/${stack}"`;
}
