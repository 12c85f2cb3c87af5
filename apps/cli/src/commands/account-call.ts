import type { ServerClient } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

/** Options of all commands about the account of the caller on a server. */
export interface AccountOptions {
  readonly server?: string;
  readonly json: boolean;
}

/** Calls a server, and writes what it answers: as JSON, or as lines. */
export async function accountCall<T>(
  { server, json }: AccountOptions,
  context: CommandContext,
  call: (client: ServerClient, signal: AbortSignal) => Promise<T>,
  linesOf: (answer: T) => readonly string[],
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const answer = await call(client, context.signal);
    if (json) context.terminal.write(`${JSON.stringify(answer ?? {}, undefined, 2)}\n`);
    else for (const line of linesOf(answer)) context.terminal.write(`${printable(line)}\n`);
    return EXIT.ok;
  });
}
