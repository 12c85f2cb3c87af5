import type { Logger } from "@stackwright/base/logger";
import type { StoredKeys } from "@stackwright/core";
import type { VcsConnection } from "@stackwright/proto/stackwright";
import type { BlobStore } from "@stackwright/storage/blob";
import type { Lease } from "@stackwright/storage/lease";
import type { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import type { SpanSink } from "../span/span.ts";
import type { GitRepository } from "./git/git-repository.ts";
import type { OutgoingHosts } from "./provider/outgoing-hosts.ts";
import type { VcsProvider } from "./provider/vcs-provider.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** What the work for connections is done with. */
export interface VcsParts extends TransactionParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly logger: Logger;
  readonly renderer: PlanRenderer;
  readonly env: NodeJS.ProcessEnv;
  /** Where copies of repositories are. */
  readonly directory: string;
  /** Folders of this machine whose repositories may be connected. */
  readonly localFolders: readonly string[];
  /** Hosts that connections may reach. */
  readonly hosts: OutgoingHosts;
  /** Where the time of the work is reported. @default nowhere */
  readonly spans?: SpanSink | undefined;
}

/** A connection while its work is done: one server at a time has its lease. */
export interface OpenConnection {
  readonly reference: ConnectionReference;
  readonly connection: VcsConnection;
  readonly repository: GitRepository;
  readonly provider: VcsProvider;
  /** Begins the comment of a pull request, by which it is found again. Others cannot make it up. */
  readonly markerOf: (pullRequest: string) => string;
  readonly guard: Lease["guard"];
  readonly signal: AbortSignal;
}

/** Who requests and approves the runs of a connection. */
export function actorOf({ name }: Pick<ConnectionReference, "name">): string {
  return `vcs:${name}`;
}
