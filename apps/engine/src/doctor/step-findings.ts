import { sleep } from "@stackwright/base/clock";
import {
  type Run,
  type RunTicket,
  RunTicket_Class,
  RunTicket_Step,
} from "@stackwright/proto/stackwright";
import { readStored, tenancyOf } from "@stackwright/storage";
import {
  fenceHolderOf,
  fenceResourceId,
  heartbeatId,
  type LeaseName,
  resolveTiming,
} from "@stackwright/storage/lease";
import { DEFAULT_POOL, memberPlace, RUN_KIND, WORKER_LEASE } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { STEPS } from "../queue/claim.ts";
import { isBlockedRecovery } from "../queue/recovery-block.ts";
import { isExecutable } from "../queue/run-protocol.ts";
import { type StuckStep, stuckStep } from "../queue/stuck-steps.ts";
import { idOf } from "../queue/transaction.ts";
import { type DoctorParts, HOUR_MS, MINUTE_MS } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";
import type { StackHolds } from "./stack-holds.ts";

const HELD_MS = 15 * MINUTE_MS;
const LONG_MS = 2 * HOUR_MS;
const POLL_MS = 500;

interface Step {
  readonly project: string;
  readonly stack: string;
  readonly ticket: RunTicket;
}

/** Steps of runs that no worker takes, that take long, or whose worker is away. */
export async function stepFindings(
  parts: DoctorParts,
  holds: StackHolds,
): Promise<readonly Finding[]> {
  const { records, nameOf, nowMs, stuck } = parts;
  const found: Finding[] = [];
  const claims = new Map<string, Step[]>();
  for (const { project, message: ticket } of await records.list(SERVER_KINDS.ticket)) {
    const stack = nameOf(project, ticket.stack);
    const where = { project, stack, run: ticket.run };
    const step = STEPS[ticket.step] ?? "step";
    const { claim } = ticket;
    const block = await blockOf(parts, project, ticket);
    if (block !== undefined) {
      const detail = `the recovery waits: ${block.reason}`;
      const sinceMs = Number(block.updatedAtMs);
      found.push(finding("recovery_blocked", detail, { ...where, sinceMs }));
    }
    if (claim === undefined) {
      const held = heldBy(holds, project, ticket);
      if (held !== undefined) {
        const sinceMs = Number(ticket.createdAtMs);
        const detail = `the step ${step} waits: ${held.detail}`;
        if (nowMs - sinceMs >= HELD_MS)
          found.push(finding(held.code, detail, { ...where, sinceMs }));
        continue;
      }
      const waits = stuckStep(ticket, 0n, nowMs, stuck);
      if (waits === undefined) continue;
      const { sinceMs } = waits;
      const pool = ticket.pool === "" ? DEFAULT_POOL : ticket.pool;
      const tried =
        ticket.attempts === 0 ? "" : `; ${ticket.attempts} attempts ended without a result`;
      const newer = isExecutable(ticket) ? "" : "; it needs a server of a newer release";
      const detail = `no worker of the pool "${pool}" takes the step ${step}${tried}${newer}`;
      found.push(finding("step_unclaimed", detail, { ...where, sinceMs }));
      continue;
    }
    const sinceMs = Number(claim.sinceMs);
    if (nowMs - sinceMs >= LONG_MS) {
      const detail = `the step ${step} is executed by ${claim.worker}`;
      found.push(finding("step_long", detail, { ...where, sinceMs }));
    }
    const silent = await silenceOf(parts, project, ticket);
    if (silent !== undefined) {
      const minutes = Math.floor((nowMs - silent.sinceMs) / MINUTE_MS);
      const detail = `nothing was heard of the step ${step} for ${minutes} minutes; ${claim.worker} executes it`;
      found.push(finding("step_silent", detail, { ...where, sinceMs: silent.sinceMs }));
    }
    const held = claims.get(claim.worker) ?? [];
    claims.set(claim.worker, [...held, { project, stack, ticket }]);
  }
  const away = await Promise.all(
    [...claims].map(async ([worker, steps]) => {
      const why = await whyAway(parts, worker, steps);
      return steps.flatMap(({ project, stack, ticket }) => {
        if (why === undefined) return [];
        const detail = `the worker ${worker} has claimed a step and is away: ${why}`;
        return [finding("worker_away", detail, { project, stack, run: ticket.run })];
      });
    }),
  );
  return [...found, ...away.flat()];
}

/** The run whose recovery waits; undefined for another step. */
async function blockOf(
  { account, storage, records, signal }: DoctorParts,
  project: string,
  { step, stack, run: id }: RunTicket,
): Promise<Run | undefined> {
  if (step !== RunTicket_Step.STEP_RECOVER) return undefined;
  const place = memberPlace({ account, project, stack }, id);
  const run = await records.readOne(RUN_KIND, project, async () =>
    readStored(storage, "strong", idOf(RUN_KIND, place), { signal }),
  );
  return run !== undefined && isBlockedRecovery(run) ? run : undefined;
}

/** Since when nothing is heard of a claimed step, if that is too long. */
async function silenceOf(
  { account, storage, records, nowMs, stuck, signal }: DoctorParts,
  project: string,
  ticket: RunTicket,
): Promise<StuckStep | undefined> {
  // Whatever its log says, so that few logs are read.
  if (stuckStep(ticket, 0n, nowMs, stuck) === undefined) return undefined;
  const place = memberPlace({ account, project, stack: ticket.stack }, ticket.run);
  const log = await records.readOne(SERVER_KINDS.log, project, async () =>
    readStored(storage, "strong", idOf(SERVER_KINDS.log, place), { signal }),
  );
  return stuckStep(ticket, log?.writtenAtMs ?? 0n, nowMs, stuck);
}

/** The lock or freeze that keeps workers from a step. */
function heldBy(
  holds: StackHolds,
  project: string,
  { stack, step, class: ticketClass }: RunTicket,
): { readonly code: "queue_locked" | "queue_frozen"; readonly detail: string } | undefined {
  if (step === RunTicket_Step.STEP_RECOVER) return undefined;
  const lock = ticketClass === RunTicket_Class.CLASS_BLOCKING && holds.lockOf(project, stack);
  if (lock) return { code: "queue_locked", detail: lock };
  const freeze = step === RunTicket_Step.STEP_APPLY && holds.freezeOf(project, stack);
  return freeze ? { code: "queue_frozen", detail: freeze } : undefined;
}

/** Why a worker with claims is taken for away; undefined for one that renews its lease. */
async function whyAway(
  parts: DoctorParts,
  worker: string,
  steps: readonly Step[],
): Promise<string | undefined> {
  const { storage, clock, signal } = parts;
  const lease: LeaseName = {
    tenancy: tenancyOf({ kind: "site" }),
    name: `${WORKER_LEASE}${worker}`,
  };
  const { ttlMs } = resolveTiming();
  const fence = await readStored(storage, "strong", fenceResourceId(lease), { signal });
  const { owner, epoch } = fenceHolderOf(fence);
  const epochs = steps.map(({ ticket }) => ticket.claim?.epoch);
  if (owner === "" || !epochs.includes(epoch)) return "its lease was released or taken";
  const renewal = async (): Promise<string | undefined> =>
    (await readStored(storage, "strong", heartbeatId(lease), { signal }))?.version;
  const first = await renewal();
  // As those do that take leases over: by renewals and this clock alone, whatever times others have.
  const startMs = clock.monotonicMs();
  while (clock.monotonicMs() - startMs < ttlMs) {
    await sleep(clock, POLL_MS, signal);
    if ((await renewal()) !== first) return undefined;
  }
  return `its lease was not renewed for ${ttlMs / 1_000} s`;
}
