import { createHash } from "node:crypto";
import { StackDirectory } from "@stackwright/core";
import { type Run_Mode, VcsRun, type VcsStack } from "@stackwright/proto/stackwright";
import { createUlidGenerator } from "@stackwright/storage";
import { storeConfiguration } from "../configuration/store-configuration.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { addRun } from "../queue/enqueue.ts";
import { transact } from "../queue/transaction.ts";
import type { TreeFiles } from "./git/tree-files.ts";
import { packFiles } from "./pack-files.ts";
import { type StackFiles, stackFiles } from "./stack-files.ts";
import { actorOf, type OpenConnection, type VcsParts } from "./vcs-parts.ts";

/** What is requested for the stacks that some changed files concern. */
interface WantedRuns {
  readonly tree: TreeFiles;
  readonly commit: string;
  /** Undefined where all files count as changed. */
  readonly changed: readonly string[] | undefined;
  readonly mode: Run_Mode;
  readonly cause: string;
  readonly message: string;
  /** Makes the names of the runs, together with this time: the same request makes the same runs, however often it is repeated. */
  readonly identity: readonly string[];
  readonly atMs: number;
  /** @default as the project says */
  readonly autoApply?: boolean;
}

/** Requests a run for each stack that is affected; what keeps one from it is said in its place, and concerns no other. */
export async function requestStackRuns(
  parts: VcsParts,
  open: OpenConnection,
  wanted: WantedRuns,
): Promise<readonly VcsRun[]> {
  const runs: VcsRun[] = [];
  for (const stack of open.connection.stacks) {
    open.signal.throwIfAborted();
    try {
      const files = await stackFiles(wanted.tree, stack);
      const { changed } = wanted;
      if (changed !== undefined && !changed.some((path) => files.isAffected(path))) continue;
      runs.push(await requestOne(parts, open, stack, files, wanted));
    } catch (error) {
      // What passes by itself is tried again, with the runs that were requested already.
      if (!isServerError(error) || error.retryable) throw error;
      // Where the folder of a stack is missing, the change concerns it if it removed the folder.
      const isConcerned =
        wanted.changed === undefined ||
        wanted.changed.some((path) => path.startsWith(`${stack.directory}/`));
      if (isConcerned) runs.push(VcsRun.create({ stack: stack.stack, problem: error.message }));
    }
  }
  return runs;
}

async function requestOne(
  parts: VcsParts,
  open: OpenConnection,
  { stack: name }: VcsStack,
  files: StackFiles,
  wanted: WantedRuns,
): Promise<VcsRun> {
  const { reference: connection, guard, signal } = open;
  const { account, project } = connection;
  const named = await new StackDirectory({ storage: parts.storage }).find(
    { account, project },
    name,
  );
  if (named === undefined) {
    const problem = `the project ${project} has no stack "${name}"`;
    return VcsRun.create({ stack: name, problem });
  }
  const { reference: stack } = named;
  const actor = actorOf(connection);
  const { version } = await storeConfiguration(parts, {
    stack,
    stackName: name,
    actor,
    content: packFiles(wanted.tree, files, signal),
    signal,
    root: files.root,
    commit: wanted.commit,
  });
  const run = runIdOf(wanted.atMs, [open.connection.id, stack.stack, ...wanted.identity]);
  const reference = { stack, run };
  await transact(parts, async (tx) => {
    // Of an earlier attempt.
    if ((await tx.find(RUN_KIND, runPlace(reference))) !== undefined) return;
    tx.guard(guard);
    await addRun(tx, {
      reference,
      stackName: name,
      configuration: version.digest,
      mode: wanted.mode,
      actor,
      cause: wanted.cause,
      message: wanted.message.slice(0, 1_024),
      ...(wanted.autoApply !== undefined && { autoApply: wanted.autoApply }),
    });
  });
  return VcsRun.create({ stack: name, stackId: stack.stack, run });
}

/** A ULID that follows from what it is for. */
function runIdOf(atMs: number, identity: readonly string[]): string {
  const digest = createHash("sha256").update(identity.join("\0")).digest();
  return createUlidGenerator({
    wallMs: () => atMs,
    randomBytes: (count) => digest.subarray(0, count),
  })();
}
