import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { parseDuration } from "../session/session.ts";

/** Locks a stack on a server: runs of the server wait, and commands are refused. */
export async function runsLock(
  options: ServerStackOptions & { readonly reason?: string; readonly expires?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { reason, expires } = options;
  if (reason === undefined || reason === "") {
    throw new CommandError("A lock needs a reason, which is shown to the users whose runs wait.", {
      advice: 'Say it with --reason "database migration until noon".',
    });
  }
  const seconds = expires === undefined ? undefined : Math.ceil(parseDuration(expires) / 1_000);
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const body = { reason, ...(seconds !== undefined && { expires_in_seconds: seconds }) };
    const { data } = await client.lockStack({ ...place, body }, { signal: context.signal });
    const until = data.until === undefined ? "" : ` until ${data.until}`;
    context.terminal.write(
      options.json
        ? `${JSON.stringify(data, undefined, 2)}\n`
        : `The stack "${place.project}/${place.stack}" is locked${until}.\n`,
    );
    return EXIT.ok;
  });
}

/** Unlocks a stack on a server; with `force` also one that another credential has locked. */
export async function runsUnlock(
  options: ServerStackOptions & { readonly force: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const force = options.force ? ({ force: "true" } as const) : {};
    await client.unlockStack({ ...place, ...force }, { signal: context.signal });
    context.terminal.write(
      options.json ? "{}\n" : `The stack "${place.project}/${place.stack}" is not locked.\n`,
    );
    return EXIT.ok;
  });
}
