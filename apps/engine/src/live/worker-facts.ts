import type { Clock } from "@stackwright/base/clock";
import { kind } from "@stackwright/krt";
import { AccessToken } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { FENCE_KIND, WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { workerPrefix } from "../domain/worker-prefix.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

// What the live view keeps of those that execute steps. Each has a lease: `worker.ID`, where the id of one on another machine begins with
// the id of its token and a dot.

/** A worker with its lease, also one that does not renew it any more. */
export interface WorkerFact {
  /** That of its lease. */
  readonly key: string;
  readonly id: string;
  /** What the ids of the workers of its token begin with; empty for that of a server. */
  readonly prefix: string;
}

/** When this server saw a lease renewed last, by its own clock. */
export interface BeatFact {
  /** That of the lease. */
  readonly key: string;
  readonly seenMs: number;
}

/** A token whose workers are of a pool. */
export interface PoolTokenFact {
  readonly key: string;
  /** What the ids of its workers begin with. */
  readonly prefix: string;
  readonly pool: string;
}

/** A step that a worker has. */
export interface ClaimedStepFact {
  readonly key: string;
  /** Id of the worker. */
  readonly worker: string;
}

const LEASES = { tenancy: tenancyOf({ kind: "site" }), prefix: WORKER_LEASE };
const TOKEN_KIND = recordKind("AccessToken", AccessToken);

export const WORKERS: FollowedKind<WorkerFact> = {
  name: "workers",
  type: FENCE_KIND.type,
  kind: kind<WorkerFact>()({ key: ({ key }) => key }),
  where: LEASES,
  keyOf: placeKey,
  project: (resource) => {
    const { owner } = decodeRecord(FENCE_KIND, resource);
    // One that relieves a dead worker has its lease for a moment, beside the own one.
    if (resource.id.name !== `${WORKER_LEASE}${owner}`) return undefined;
    const prefix = owner.slice(0, owner.indexOf(".") + 1);
    return { key: placeKey(resource.id), id: owner, prefix };
  },
};

/** The signs of life of workers: what is seen for the first time counts as alive. No clock of another machine is asked. */
export function followedBeats(clock: Pick<Clock, "monotonicMs">): FollowedKind<BeatFact> {
  return {
    name: "signs of life",
    type: HEARTBEAT_TYPE,
    kind: kind<BeatFact>()({ key: ({ key }) => key }),
    where: LEASES,
    keyOf: placeKey,
    project: (resource) => ({ key: placeKey(resource.id), seenMs: clock.monotonicMs() }),
  };
}

/** Of the tokens those alone that have a pool, without what they are recognised by. */
export const POOL_TOKENS: FollowedKind<PoolTokenFact> = {
  name: "tokens of pools",
  type: TOKEN_KIND.type,
  kind: kind<PoolTokenFact>()({ key: ({ key }) => key }),
  where: { tenancy: tenancyOf({ kind: "credentials" }), prefix: "" },
  keyOf: placeKey,
  project: (resource) => {
    const { tokenId, pool } = decodeRecord(TOKEN_KIND, resource);
    if (pool === "") return undefined;
    return { key: placeKey(resource.id), prefix: workerPrefix({ actor: tokenId }), pool };
  },
};

export const CLAIMED_STEPS: FollowedKind<ClaimedStepFact> = {
  name: "claimed steps",
  type: SERVER_KINDS.ticket.type,
  kind: kind<ClaimedStepFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { claim } = decodeRecord(SERVER_KINDS.ticket, resource);
    return claim && { key: placeKey(resource.id), worker: claim.worker };
  },
};
