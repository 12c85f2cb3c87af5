import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";

export interface AuditOptions {
  readonly server?: string;
  /** Sequence of the last entry that was read. */
  readonly after?: string;
}

/** Entries of one request. */
const PAGE = 1_000;

/** Writes the audit trail of an account as JSON lines, from one entry to the last. */
export async function auditExport(
  { server, after }: AuditOptions,
  context: CommandContext,
): Promise<ExitCode> {
  // Empty where a file with the former entries has none yet.
  const begin = after === undefined || after === "" ? 0 : Number(after);
  if (!/^\d*$/.test(after ?? "") || !Number.isSafeInteger(begin)) {
    throw new CommandError(`"${after}" is not the sequence of an entry.`, {
      advice: 'It is the member "sequence" of the last line that was read.',
    });
  }
  const { signal, terminal } = context;
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    let cursor: number | undefined = begin;
    do {
      const { data } = await client.exportAudit({ after: cursor, limit: PAGE }, { signal });
      for (const entry of data.entries) terminal.write(`${JSON.stringify(entry)}\n`);
      cursor = data.next;
    } while (cursor !== undefined);
    return EXIT.ok;
  });
}
