import type { Principal } from "@stackwright/registry";
import { readStored, tenancyOf } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { FENCE_KIND, runOfTicket, WORKER_LEASE } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { workerPrefix } from "../domain/worker-prefix.ts";
import { type ListedTicket, orderTickets, retryMs, withClaim } from "../queue/choose-ticket.ts";
import {
  claimTicket,
  type RunClaim,
  STEPS,
  standingOf,
  type WorkerTenure,
} from "../queue/claim.ts";
import { releaseClaim } from "../queue/release.ts";
import { createRunToken, digestOfRunToken } from "../queue/run-token.ts";
import { ServedProjects } from "../queue/served-projects.ts";
import { idOf } from "../queue/transaction.ts";
import { traceIdOf } from "../span/trace-context.ts";
import { isLeftToOthers } from "./left-to-others.ts";
import { LiveServers } from "./live-servers.ts";
import { accessOf, type StoredClaimParts } from "./stored-claim-host.ts";

/** A claim of a remote worker, with the token for everything that is done for it. */
export interface GivenClaim {
  readonly claim: RunClaim;
  readonly token: string;
}

/**
 * The lease of a remote worker as a guard. `forbidden` for a name that is not one of the credential's; `claim_lost` where the lease
 * is over, or is held again by another process.
 */
export async function tenureOf(
  { storage }: Pick<StoredClaimParts, "storage">,
  credential: Pick<Principal, "actor" | "credential">,
  { worker: id, fence: version }: { readonly worker: string; readonly fence: string },
): Promise<WorkerTenure> {
  if (!id.startsWith(workerPrefix(credential))) {
    throw new ServerError("forbidden", "the worker belongs to another credential");
  }
  const place = { tenancy: tenancyOf({ kind: "site" }), name: `${WORKER_LEASE}${id}` };
  const found = await readStored(storage, "strong", idOf(FENCE_KIND, place));
  const fence = found && decodeRecord(FENCE_KIND, found);
  if (found === undefined || fence?.owner !== id || found.version !== version) {
    throw new ServerError("claim_lost", "the worker has no lease");
  }
  return { id, epoch: fence.epoch, guard: { id: found.id, version } };
}

/**
 * Releases claims of a worker that it does not execute, because it never got the answer. `running` has those that it does; what was
 * claimed by `request` or one after it may still reach the worker. The tickets may be behind the store: a claim is released as it was listed, or not. Resolves with
 * whether one was.
 */
export async function releaseUnknown(
  parts: StoredClaimParts,
  tickets: readonly ListedTicket[],
  { id: worker, guard }: WorkerTenure,
  { running, request }: { readonly running: readonly string[]; readonly request: number },
): Promise<boolean> {
  let isAny = false;
  for (const { id, ticket } of tickets) {
    const { run, claim } = ticket;
    if (claim?.worker !== worker || running.includes(run) || claim.request >= request) continue;
    const { tokenDigest } = claim;
    const reason = "the worker does not execute the step";
    const dead = { ticket: id, worker, tokenDigest, guard, actor: worker, reason };
    if (await releaseClaim(parts, dead)) isAny = true;
  }
  return isAny;
}

/** Claims the next ticket of the projects of a credential for its worker; undefined where there is none. */
export async function claimNext(
  parts: StoredClaimParts,
  { account, projects, pool }: Pick<Principal, "account" | "projects" | "pool">,
  worker: WorkerTenure,
  {
    tickets,
    endedAgo,
    background: takesBackground = true,
    request,
    tried = new Set(),
  }: {
    /** All there are, which may be behind the store. */
    readonly tickets: readonly ListedTicket[];
    /** Steps that ended at the worker: how many milliseconds ago, by run. */
    readonly endedAgo: ReadonlyMap<string, number>;
    /** Whether the worker takes plans of schedules, of which it has no more than half. @default true */
    readonly background?: boolean | undefined;
    /** Number of the request of the worker. */
    readonly request?: number;
    /** Runs whose tickets were tried, and are not tried again; those that are tried come to it. @default none */
    readonly tried?: Set<string>;
  },
): Promise<GivenClaim | undefined> {
  const { servers = new LiveServers(parts), served = new ServedProjects(parts.clock) } = parts;
  served.observe(tickets);
  const isOurs = ({ id: { tenancy } }: ListedTicket): boolean =>
    tenancy.partition === account &&
    (projects.length === 0 || projects.includes(tenancy.namespace));
  /** Runs whose tickets are others by now: a list that is not behind has them as they are. */
  const stale = new Set<string>();
  /** The first ticket that was not tried and that a worker has now, and the claim where it is this one. */
  const claimFirst = async (listed: readonly ListedTicket[]) => {
    // In the order of all: what other workers have claimed counts for the fairness between projects.
    for (const one of orderTickets(listed, parts.clock.wallMs(), pool, served)) {
      const { run, step: stored, attempts, background } = one.ticket;
      if (tried.has(run)) continue;
      tried.add(run);
      if (background && !takesBackground) continue;
      const step = STEPS[stored];
      const mayBegin = (endedAgo.get(run) ?? Number.POSITIVE_INFINITY) >= retryMs(attempts);
      if (!isOurs(one) || !mayBegin || step === undefined) continue;
      const reference = runOfTicket(one.id.tenancy, one.ticket);
      try {
        // Its worker asks again, and maybe another server.
        if (await isLeftToOthers(parts, servers, one)) continue;
        const access = await accessOf(parts, { step, reference });
        const token = createRunToken(reference);
        const digest = digestOfRunToken(token);
        const claim = await claimTicket(parts, one.id, worker, digest, {
          listed: one.ticket,
          writesState: access === "write",
          request,
        });
        if (claim !== undefined) return { taken: one, given: { claim, token } };
        const standing = await standingOf(parts, one);
        if (standing.worker !== undefined) return { taken: one };
        if (standing.isOther) stale.add(run);
      } catch (error) {
        if (error instanceof ServerError && error.code === "claim_lost") throw error;
        // The others need not wait for one that is damaged.
        const traceId = traceIdOf(run, one.ticket.traceParent);
        parts.logger.error({ run, traceId, err: error }, "a ticket could not be claimed");
      }
    }
    return undefined;
  };
  for (let listed = tickets; ; ) {
    const found = await claimFirst(listed);
    if (found === undefined) {
      for (const run of stale) tried.delete(run);
      return undefined;
    }
    served.serve(found.taken);
    if (found.given !== undefined) return found.given;
    listed = withClaim(listed, found.taken);
  }
}
