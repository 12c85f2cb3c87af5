import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that finds resources. */
export interface SearchOptions {
  readonly server?: string;
  readonly type?: string;
  readonly project?: string;
  readonly limit: string;
  readonly json: boolean;
}

/** Writes the resources of all stacks of a server whose addresses have a text in them. */
export async function search(
  text: string,
  { type, project, limit, json, server }: SearchOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const query = {
      q: text,
      limit: Number(limit),
      ...(type !== undefined && { type }),
      ...(project !== undefined && { project }),
    };
    const { data } = await client.searchResources(query, { signal: context.signal });
    if (json) {
      context.terminal.write(`${JSON.stringify(data, undefined, 2)}\n`);
      return EXIT.ok;
    }
    for (const one of data.resources) {
      const deposed = one.deposed === undefined ? "" : ` (deposed ${one.deposed})`;
      const line = `${one.project}/${one.stack}: ${one.address}${deposed}`;
      context.terminal.write(`${printable(line)}\n`);
    }
    if (data.resources.length === 0) context.terminal.writeError("No resource matches.\n");
    if (data.more) {
      context.terminal.writeError(
        "There are more. Use a longer text, --type, --project or --limit.\n",
      );
    }
    return EXIT.ok;
  });
}
