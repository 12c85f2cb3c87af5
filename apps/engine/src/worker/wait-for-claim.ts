import { sleep } from "@stackwright/base/clock";
import type { Principal } from "@stackwright/registry";
import type { ListedTicket } from "../queue/choose-ticket.ts";
import { releaseClaim } from "../queue/release.ts";
import type { TicketBoard } from "../queue/ticket-board.ts";
import { claimNext, type GivenClaim, releaseUnknown, tenureOf } from "./claim-next.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

/** What a remote worker says with its request for a claim. */
export interface ClaimRequest {
  readonly worker: string;
  /** Version of the fence of its lease. */
  readonly fence: string;
  /** Number of this request: each of the worker has a higher one than those before. */
  readonly request: number;
  /** Runs whose steps it executes. @default none */
  readonly running?: readonly string[] | undefined;
  /** Steps that ended there lately. @default none */
  readonly ended?: readonly { readonly run: string; readonly ago_ms: number }[] | undefined;
  /** Whether it takes plans of schedules. @default true */
  readonly background?: boolean | undefined;
  /** How long it waits for one. @default 0 */
  readonly wait_seconds?: number | undefined;
}

interface WaitOptions {
  /** Aborts when the worker has gone away: what is claimed from then on would reach no one. */
  readonly gone: AbortSignal;
  readonly stopping: AbortSignal;
  /** Rejects where the credential was revoked meanwhile. */
  readonly authorizeAgain: () => Promise<void>;
}

/** How often a waiting request looks into the store, give or take a quarter, so that those that wait for one ticket do not all do so at once. */
const LOOK_MS = 5_000;

/**
 * Claims the next step for a remote worker, and waits for one; undefined where none came in time. Only what requests before this
 * one were given is released where the worker does not execute it: what it has of a later one, such as at another server after
 * this one lost its connection, may be executed.
 */
export async function waitForClaim(
  parts: StoredClaimParts & { readonly tickets: Pick<TicketBoard, "list" | "listStored" | "rung"> },
  principal: Pick<Principal, "actor" | "credential" | "account" | "projects" | "pool">,
  request: ClaimRequest,
  { gone, stopping, authorizeAgain }: WaitOptions,
): Promise<GivenClaim | undefined> {
  const { clock, random, tickets } = parts;
  const { running = [], ended = [], wait_seconds: seconds = 0, background } = request;
  const { request: number } = request;
  const receivedMs = clock.monotonicMs();
  const over = new AbortController();
  using _end = clock.after(seconds * 1_000, () => over.abort());
  const waiting = AbortSignal.any([gone, stopping, over.signal]);
  // The board may lack what the store has, which is therefore listed by the first look that finds nothing, and now and then.
  let listAtMs: number | undefined;
  while (!gone.aborted) {
    const look = new AbortController();
    const rung = tickets.rung(AbortSignal.any([waiting, look.signal]));
    try {
      const tenure = await tenureOf(parts, principal, request);
      const sinceMs = clock.monotonicMs() - receivedMs;
      const endedAgo = new Map(ended.map((one) => [one.run, one.ago_ms + sinceMs]));
      const known = { endedAgo, background, request: number, tried: new Set<string>() };
      const choose = async (listed: readonly ListedTicket[]): Promise<GivenClaim | undefined> => {
        const isAny = await releaseUnknown(parts, listed, tenure, { running, request: number });
        const present = isAny ? await tickets.listStored() : listed;
        return claimNext(parts, principal, tenure, { ...known, tickets: present });
      };
      const isDue = listAtMs === undefined || clock.monotonicMs() >= listAtMs;
      let given = listAtMs !== undefined && isDue ? undefined : await choose(await tickets.list());
      if (given === undefined && isDue) {
        given = await choose(await tickets.listStored());
        listAtMs = clock.monotonicMs() + LOOK_MS * (0.75 + random() / 2);
      }
      if (given !== undefined && gone.aborted) return await takeBack(parts, given);
      if (given !== undefined) return given;
      if (waiting.aborted || seconds === 0) return undefined;
      const pauseMs = Math.max(0, (listAtMs ?? 0) - clock.monotonicMs());
      await Promise.race([
        rung,
        sleep(clock, pauseMs, AbortSignal.any([waiting, look.signal])).catch(() => undefined),
      ]);
    } finally {
      look.abort();
    }
    await authorizeAgain();
  }
  return undefined;
}

/** Gives a claim back that its worker never hears of: nothing was executed, so that it is no attempt. */
async function takeBack(parts: StoredClaimParts, { claim }: GivenClaim): Promise<undefined> {
  const { ticket, tokenDigest, worker } = claim;
  const { id, guard } = worker;
  const reason = "the worker had gone";
  const back = { ticket, worker: id, tokenDigest, guard, actor: id, reason, isReturned: true };
  await releaseClaim(parts, back);
  return undefined;
}
