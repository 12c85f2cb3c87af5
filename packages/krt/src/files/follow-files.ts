import type { Graph } from "../core/graph.ts";
import { KrtError } from "../errors.ts";
import { type ReadCycle, Rereader, type WatchFilesOptions } from "./rereader.ts";

/** A collection that is made of files. */
interface FilesNode {
  readonly name: string;
  readonly graph: Graph;
  readonly disposed: boolean;
}

interface FollowedFiles {
  /** Subject of the message of a failure. */
  readonly what: () => string;
  /** Pause before a reading where the options name none, in milliseconds. */
  readonly debounceMs: number;
  /** Reads everything and stores it, unless the collection was disposed meanwhile. */
  readonly read: (cycle: ReadCycle) => Promise<void>;
}

/**
 * Reads files again for a collection whenever they change. A reading that fails rejects with `KRT_SOURCE`, which is also reported
 * where an earlier one was complete; after the collection was disposed nothing fails.
 */
export function followFiles(
  node: FilesNode,
  options: WatchFilesOptions,
  { what, debounceMs, read }: FollowedFiles,
): Rereader {
  let first = true;
  return new Rereader({
    scheduler: node.graph.options.scheduler,
    debounceMs: options.debounceMs ?? debounceMs,
    resyncMs: options.resyncMs ?? 30_000,
    persistent: options.persistent ?? false,
    read: async (cycle) => {
      try {
        await read(cycle);
        first = false;
      } catch (cause) {
        if (node.disposed) return;
        const text = cause instanceof Error ? cause.message : String(cause);
        const error = new KrtError("KRT_SOURCE", `reading ${what()} failed: ${text}`, {
          details: { collection: node.name },
          cause,
        });
        if (!first) node.graph.report(error);
        throw error;
      }
    },
  });
}

/** Waits for the first reading; disposes the collection where that fails. */
export async function firstReading<Node extends Disposable & { resync(): Promise<void> }>(
  node: Node,
): Promise<Node> {
  try {
    await node.resync();
  } catch (error) {
    node[Symbol.dispose]();
    throw error;
  }
  return node;
}
