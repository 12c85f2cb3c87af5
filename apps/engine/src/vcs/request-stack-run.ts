import { StackDirectory } from "@stackwright/core";
import { type Run_Mode, VcsRun, type VcsStack } from "@stackwright/proto/stackwright";
import { storeConfiguration } from "../configuration/store-configuration.ts";
import { derivedRunId } from "../domain/derived-run-id.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { isServerError } from "../domain/server-error.ts";
import { addRun } from "../queue/enqueue.ts";
import { transact } from "../queue/transaction.ts";
import { TreeFiles } from "./git/tree-files.ts";
import { packFiles } from "./pack-files.ts";
import { type StackFiles, stackFiles } from "./stack-files.ts";
import { actorOf, type OpenConnection, type VcsParts } from "./vcs-parts.ts";

/** What is requested for the stacks that some changed files concern. */
interface WantedRuns {
  /** Id of the tree with their files. */
  readonly tree: string;
  readonly commit: string;
  /** The tree since which files count as changed; undefined where all do. */
  readonly since: string | undefined;
  readonly mode: Run_Mode;
  readonly cause: string;
  readonly message: string;
  /** Makes the names of the runs, together with this time: the same request makes the same runs, however often it is repeated. */
  readonly identity: readonly string[];
  readonly atMs: number;
  /** @default as the project says */
  readonly autoApply?: boolean;
}

/** What was requested, or why it cannot be known what the tree asks for. */
interface RequestedRuns {
  readonly runs: readonly VcsRun[];
  /** Why the tree could not be read: then it is what is said of each stack. Empty where it was. */
  readonly problem: string;
}

/**
 * Requests a run for each stack that is affected; what keeps one from it is said in its place, and concerns no other. A tree over the
 * bounds concerns all.
 */
export async function requestStackRuns(
  parts: VcsParts,
  open: OpenConnection,
  wanted: WantedRuns,
): Promise<RequestedRuns> {
  const { repository, connection } = open;
  const runs: VcsRun[] = [];
  let tree: TreeFiles;
  let changed: readonly string[] | undefined;
  try {
    tree = await TreeFiles.open(repository, wanted.tree);
    changed =
      wanted.since === undefined
        ? undefined
        : await repository.changedPaths(wanted.since, wanted.tree);
  } catch (error) {
    if (!isServerError(error) || error.retryable) throw error;
    const problem = error.message;
    return {
      problem,
      runs: connection.stacks.map(({ stack }) => VcsRun.create({ stack, problem })),
    };
  }
  for (const stack of connection.stacks) {
    open.signal.throwIfAborted();
    try {
      const files = await stackFiles(tree, stack);
      if (changed !== undefined && !changed.some((path) => files.isAffected(path))) continue;
      runs.push(await requestOne(parts, open, stack, { tree, files, wanted }));
    } catch (error) {
      // What passes by itself is tried again, with the runs that were requested already.
      if (!isServerError(error) || error.retryable) throw error;
      // Where the folder of a stack is missing, the change concerns it if it removed the folder.
      const isConcerned =
        changed === undefined || changed.some((path) => path.startsWith(`${stack.directory}/`));
      if (isConcerned) runs.push(VcsRun.create({ stack: stack.stack, problem: error.message }));
    }
  }
  return { runs, problem: "" };
}

async function requestOne(
  parts: VcsParts,
  open: OpenConnection,
  { stack: name }: VcsStack,
  {
    tree,
    files,
    wanted,
  }: { readonly tree: TreeFiles; readonly files: StackFiles; readonly wanted: WantedRuns },
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
    content: packFiles(tree, files, signal),
    signal,
    root: files.root,
    commit: wanted.commit,
  });
  const run = derivedRunId(wanted.atMs, [open.connection.id, stack.stack, ...wanted.identity]);
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
