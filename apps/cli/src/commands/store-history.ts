import type { CommitHistory, ResolvedHistory } from "@stackwright/storage";
import { type RestorePoint, shownResource } from "@stackwright/storage/backup";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { parseMoment } from "../session/moment.ts";
import { openWholeStore, type WholeStoreOptions } from "../session/whole-store.ts";

export interface HistoryOptions extends WholeStoreOptions {
  /** Names each commit. */
  readonly list: boolean;
  /** A revision or a time; the commits before it are not named. */
  readonly since?: string;
}

/** Says how much history a store has, or names its commits. */
export async function storeHistory(
  options: HistoryOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const since = options.since === undefined ? undefined : parseMoment("--since", options.since);
  await using store = await openWholeStore(context, options);
  if (store.historySize === undefined) {
    throw new CommandError(`The store ${store.name} does not say how much history it has.`, {
      advice:
        "Its cluster keeps the history: `etcdctl endpoint status` names the revision and the bytes.",
    });
  }
  if (options.list) {
    const { commits } = store;
    if (commits !== undefined) await listCommits(commits, since, context);
    return EXIT.ok;
  }
  const { events, bytes, oldestMs } = await store.historySize(context.signal);
  const oldest =
    oldestMs === undefined ? "" : `, the oldest of ${new Date(oldestMs).toISOString()}`;
  const bounds = await store.historyBounds?.(context.signal);
  const kept = bounds === undefined ? "" : `; ${boundsText(bounds)}`;
  context.terminal.write(`${store.name}: ${events} commits of ${bytes} bytes${oldest}${kept}\n`);
  return EXIT.ok;
}

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

function boundsText({ events, bytes, maxAgeMs }: ResolvedHistory): string {
  const age = maxAgeMs === undefined ? "of any age" : `for ${maxAgeMs / HOUR_MS} hours`;
  return `it keeps up to ${events} commits and ${bytes / MIB} MiB, ${age}`;
}

async function listCommits(
  history: CommitHistory,
  since: RestorePoint | undefined,
  { terminal, signal }: CommandContext,
): Promise<void> {
  const { compacted } = await history.readCommits(0, { signal });
  const first = since !== undefined && "revision" in since ? since.revision : 0;
  for (let after = Math.max(compacted, first - 1); ; ) {
    const { commits, revision } = await history.readCommits(after, { signal });
    for (const commit of commits) {
      const { atMs, operation, resource } = commit;
      if (since !== undefined && "timeMs" in since && atMs !== undefined && atMs < since.timeMs) {
        continue;
      }
      const time = atMs === undefined ? "-" : new Date(atMs).toISOString();
      terminal.write(
        `${commit.revision}  ${time}  ${operation === "upsert" ? "write " : "delete"}  ${shownResource(resource)}\n`,
      );
    }
    const last = commits.at(-1)?.revision;
    if (last === undefined || last >= revision) return;
    after = last;
  }
}
