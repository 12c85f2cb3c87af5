import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";

export interface AuditOptions {
  readonly server?: string;
  /** Id of the last entry that was read. */
  readonly after?: string;
}

/** Entries of one request. */
const PAGE = 1_000;

/** Writes the audit trail of an account as JSON lines, from one entry to the last that is a minute old. */
export async function auditExport(
  { server, after }: AuditOptions,
  context: CommandContext,
): Promise<ExitCode> {
  // Empty where a file with the former entries has none yet.
  const begin = after === "" ? undefined : after;
  if (begin !== undefined && !/^[0-9A-Z]{26}$/.test(begin)) {
    throw new CommandError(`"${after}" is not the id of an entry.`, {
      advice: 'It is the member "id" of the last line that was read.',
    });
  }
  const { signal, terminal } = context;
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    let cursor = begin;
    do {
      const from = cursor === undefined ? {} : { after: cursor };
      const { data } = await client.exportAudit({ ...from, limit: PAGE }, { signal });
      for (const entry of data.entries) terminal.write(`${JSON.stringify(entry)}\n`);
      cursor = data.next;
    } while (cursor !== undefined);
    return EXIT.ok;
  });
}
