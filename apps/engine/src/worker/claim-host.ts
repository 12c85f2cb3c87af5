import type { RegistryAnswer, RegistryQuery } from "../domain/registry-query.ts";
import type { IdentityToken } from "../domain/requested-identity.ts";
import type { OfferedSchema, SchemaAnswer } from "../domain/upstream-schema.ts";
import type { ExecutionJob, StoredStateContent } from "../executor/execution-job.ts";
import type { ExecutionEnd } from "../executor/executor.ts";
import type { ReadOtherStack } from "../executor/other-stacks.ts";
import type { TimedEvent } from "../queue/append-events.ts";

/** What an executor has to do, but for the places of its machine. */
export type ClaimJob = Omit<ExecutionJob, "folder" | "providersFolder" | "store">;

/**
 * What the run layer does for a claim that is being executed: in the process that has the store, or behind the API of a server.
 * All of it rejects with `claim_lost` where another worker has the claim.
 */
export interface ClaimHost {
  job(): Promise<ClaimJob>;
  /** The run is `planning` from now on. */
  beginPlanning(): Promise<void>;
  /** The run is `applying` from now on, under the stack's fence of this epoch. */
  beginApply(epoch: bigint): Promise<void>;
  /** What another stack publishes. `ENGINE_INPUT_UNAVAILABLE` where the run is not allowed to read it. */
  readonly readOtherStack: ReadOtherStack;
  /** Tokens of the run, for the audiences that the variables of its stack name. */
  identityTokens(): Promise<readonly IdentityToken[]>;
  /** What the registry of the account has. */
  readRegistry(query: RegistryQuery): Promise<RegistryAnswer>;
  /** A tool that applies the run has written a state. */
  recordState(content: StoredStateContent): Promise<void>;
  /** A plan has the schema of an upstream provider: asks whether it is wanted, or says where it is stored. */
  handInSchema(offered: OfferedSchema): Promise<SchemaAnswer>;
  /** Appends events to the log of the run, once and in one step. */
  append(events: readonly TimedEvent[]): Promise<void>;
  /** Writes how the execution ended; `late` says why it was stopped, where it missed its deadline. */
  end(end: ExecutionEnd, late: string | undefined): Promise<void>;
  /** Gives the claim back, or ends a run that no worker can execute. Never rejects. */
  giveUp(error: unknown): Promise<void>;
  /** Whether an error says that the store is away for now. */
  isAway(error: unknown): boolean;
}
