import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { sleep } from "@stackwright/base/clock";
import { StackDirectory } from "@stackwright/core";
import type {
  NotificationDestination,
  NotificationEvent,
  NotificationWait,
} from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { createLeases, type Leases, type Renewer } from "@stackwright/storage/lease";
import { mayReact, type ServerClock } from "../clock/server-clock.ts";
import { TEST_EVENT } from "../domain/notification-events.ts";
import { notificationSettingsPlace, type ProjectReference } from "../domain/notification-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { matchesStack } from "../domain/stack-pattern.ts";
import { listReadable, logDamaged } from "../queue/list-readable.ts";
import { mirrorKind } from "../queue/mirror-kind.ts";
import { DEFAULT_STUCK_BOUNDS, type StuckBounds } from "../queue/stuck-steps.ts";
import { idOf } from "../queue/transaction.ts";
import { noteHeldLocks } from "./note-held-locks.ts";
import { noteStuckSteps } from "./note-stuck-steps.ts";
import type { NotificationParts } from "./notification-parts.ts";
import { sendNotification } from "./send-notification.ts";
import { settleAttempt, settleUnsent } from "./settle-delivery.ts";
import { type Lane, WaitingLanes } from "./waiting-lanes.ts";

const KIND = SERVER_KINDS.notificationEvent;

/** Destinations that are served at the same time, and those of one project among them. */
const MAX_SERVED = 16;
const MAX_SERVED_OF_PROJECT = 4;
/** How often everything is looked through, and how often at most: many events may come at once. */
const SWEEP_MS = 10_000;
const LEAST_MS = 200;
/** How often locks are looked at. */
const LOCKS_MS = 60_000;
/** How often steps are. */
const STEPS_MS = 10_000;
/** How long a destination is served before others have their turn. */
const TURN_MS = 30_000;
/** How long the lease of a destination is waited for: longer than a dead server keeps one. */
const LEASE_MS = 30_000;
/** How long a destination rests whose turn could not even be begun or noted. */
const FAILED_MS = 2_000;
/** Events that may wait for one destination. */
const MAX_WAITING = 1_000;

interface NotificationWorkerParts extends NotificationParts {
  readonly renewer?: Renewer | undefined;
  /** From when on steps count as stuck. @default those of a server without options */
  readonly stuck?: StuckBounds | undefined;
  /** What is known of the clock of the server: one that is wrong notes nothing that lasts too long. @default it is right */
  readonly serverClock?: ServerClock | undefined;
}

/** An event that waits for one destination. */
interface Waiting {
  readonly event: NotificationEvent;
  readonly wait: NotificationWait;
}

/**
 * Sends what was noted, to each destination in the order in which it happened. Any number of servers do so on one store: the lease of a
 * destination is with one of them, and every write names it. An event is taken from the store after its destination has it: where a server
 * dies in between, the next one sends it again, under the same id.
 */
export class NotificationWorker {
  readonly #parts: NotificationWorkerParts;
  readonly #leases: Leases;
  readonly #ending = new AbortController();
  readonly #busy = new Map<string, { readonly lane: Lane; readonly done: Promise<void> }>();
  /** Follows the store; empty until it was read for the first time. */
  #lanes = new WaitingLanes(() => undefined);
  /** When destinations with events that wait were served last. */
  #served = new Map<string, number>();
  #bell = Promise.withResolvers<void>();
  #locksAtMs = Number.NEGATIVE_INFINITY;
  #stepsAtMs = Number.NEGATIVE_INFINITY;
  readonly #loops: Promise<unknown>;

  constructor(parts: NotificationWorkerParts) {
    this.#parts = parts;
    const { storage, clock, renewer } = parts;
    this.#leases = createLeases({
      storage,
      clock,
      owner: `notify@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
      ...(renewer !== undefined && { renewer }),
    });
    const { signal } = this.#ending;
    this.#loops = Promise.all([
      this.#loop(),
      mirrorKind(
        parts,
        KIND.type,
        {
          create: () => new WaitingLanes((resource) => this.#decoded(resource)),
          onSynced: (lanes) => {
            this.#lanes = lanes;
            this.#bell.resolve();
          },
          onChange: () => this.#bell.resolve(),
        },
        signal,
      ),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error("the server stops"));
    this.#bell.resolve();
    await Promise.all([this.#loops, ...Array.from(this.#busy.values(), ({ done }) => done)]);
  }

  async #loop(): Promise<void> {
    const { clock, logger, random, serverClock } = this.#parts;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      this.#bell = Promise.withResolvers<void>();
      let pauseMs = SWEEP_MS * (0.75 + random() / 2);
      try {
        const mayNote = await mayReact(serverClock);
        if (mayNote && clock.monotonicMs() - this.#locksAtMs >= LOCKS_MS) {
          await noteHeldLocks(this.#parts, signal);
          this.#locksAtMs = clock.monotonicMs();
        }
        if (mayNote && clock.monotonicMs() - this.#stepsAtMs >= STEPS_MS) {
          await noteStuckSteps(this.#parts, this.#parts.stuck ?? DEFAULT_STUCK_BOUNDS, signal);
          this.#stepsAtMs = clock.monotonicMs();
        }
        pauseMs = Math.min(pauseMs, this.#turn());
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error }, "the sending of notifications is tried again");
      }
      await sleep(clock, LEAST_MS, signal).catch(() => undefined);
      const pause = new AbortController();
      await Promise.race([
        this.#bell.promise,
        sleep(clock, pauseMs, AbortSignal.any([signal, pause.signal])).catch(() => undefined),
      ]);
      pause.abort();
    }
  }

  /** Begins to serve the destinations that are due; gives the time until more are. */
  #turn(): number {
    const nowMs = this.#parts.clock.wallMs();
    this.#served = new Map([...this.#served].filter(([key]) => this.#lanes.has(key)));
    const servedAt = (lane: Lane): number => this.#served.get(lane.key) ?? 0;
    let next = Number.POSITIVE_INFINITY;
    for (const { lane, dueMs } of Array.from(this.#lanes.heads()).toSorted(
      (a, b) => servedAt(a.lane) - servedAt(b.lane),
    )) {
      if (this.#busy.has(lane.key)) continue;
      if (dueMs > nowMs) next = Math.min(next, dueMs - nowMs);
      else if (this.#hasRoom(lane)) this.#begin(lane);
    }
    return next;
  }

  #decoded(resource: Parameters<typeof decodeRecord>[1]): NotificationEvent | undefined {
    try {
      return decodeRecord(KIND, resource);
    } catch (error) {
      this.#parts.logger.error({ event: resource.id.name, err: error }, "an event cannot be read");
      return undefined;
    }
  }

  #hasRoom({ project: { account, project } }: Lane): boolean {
    if (this.#busy.size >= MAX_SERVED) return false;
    const ofProject = [...this.#busy.values()].filter(
      ({ lane }) => lane.project.account === account && lane.project.project === project,
    );
    return ofProject.length < MAX_SERVED_OF_PROJECT;
  }

  #begin(lane: Lane): void {
    const { clock, logger } = this.#parts;
    const { signal } = this.#ending;
    const done = this.#serve(lane)
      .catch(async (error: unknown) => {
        if (signal.aborted) return;
        logger.warn({ destination: lane.destination, err: error }, "a destination is served again");
        await sleep(clock, FAILED_MS, signal).catch(() => undefined);
      })
      .finally(() => {
        this.#served.set(lane.key, clock.monotonicMs());
        this.#busy.delete(lane.key);
        this.#bell.resolve();
      });
    this.#busy.set(lane.key, { lane, done });
  }

  /** Sends what is due for one destination, until an attempt fails or its turn is over. */
  async #serve({ project, destination: id }: Lane): Promise<void> {
    const { clock, storage } = this.#parts;
    const { signal: ending } = this.#ending;
    const waiting = AbortSignal.any([ending, AbortSignal.timeout(LEASE_MS)]);
    const name = { tenancy: projectTenancy(project), name: `notify-${id}` };
    await using lease = await this.#leases.acquire(name, { signal: waiting });
    const signal = AbortSignal.any([ending, lease.signal]);
    const untilMs = clock.monotonicMs() + TURN_MS;
    const served = { project, destination: { id }, guard: lease.guard, signal: lease.signal };
    const place = notificationSettingsPlace(project);
    const settings = SERVER_KINDS.notificationSettings;
    const stored = await readStored(storage, "strong", idOf(settings, place), { signal });
    const { destinations } = stored ? decodeRecord(settings, stored) : { destinations: [] };
    const destination = destinations.find((one) => one.id === id);
    const all = await this.#waiting(project, id, signal);
    const ids = all.map(({ event }) => event.id);
    if (destination === undefined) {
      await settleUnsent(this.#parts, served, ids, { isShown: false });
      return;
    }
    const tooMany = Math.max(0, ids.length - MAX_WAITING);
    await settleUnsent(this.#parts, served, ids.slice(0, tooMany), { isShown: true });
    const names = await this.#stackNames(project);
    for (const { event, wait } of all.slice(tooMany)) {
      if (signal.aborted || clock.monotonicMs() > untilMs) return;
      // A mail that waits for some recipients alone holds up none behind it.
      const isPartial = wait.recipients.length > 0;
      if (Number(wait.nextAtMs) > clock.wallMs()) {
        if (isPartial) continue;
        return;
      }
      const stackName = names.get(event.stack) ?? "";
      const { stacks } = destination;
      const concerns = stacks.length === 0 || stacks.some((one) => matchesStack(one, stackName));
      if (!concerns && event.event !== TEST_EVENT) {
        await settleUnsent(this.#parts, served, [event.id], { isShown: false });
        continue;
      }
      const recipients = remainingOf(wait, destination);
      const sent = { event, stackName, recipients };
      const outcome =
        isPartial && recipients.length === 0
          ? { status: 0, isDelivered: true, problem: "" }
          : await sendNotification(this.#parts, project, destination, sent, signal);
      const waits = await settleAttempt(this.#parts, served, event.id, outcome);
      if (waits && !isPartial && !outcome.isDelivered) return;
    }
  }

  /** What waits for a destination, the oldest first. */
  async #waiting(
    project: ProjectReference,
    destination: string,
    signal: AbortSignal,
  ): Promise<readonly Waiting[]> {
    const { storage, logger } = this.#parts;
    const tenancy = projectTenancy(project);
    const onDamaged = logDamaged(logger);
    const found = await listReadable(storage, KIND, tenancy, { signal, onDamaged });
    return found
      .flatMap(({ message: event }) => {
        const wait = event.waits.find((one) => one.destination === destination);
        return wait === undefined ? [] : [{ event, wait }];
      })
      .toSorted((a, b) => (a.event.id < b.event.id ? -1 : 1));
  }

  async #stackNames(project: ProjectReference): Promise<ReadonlyMap<string, string>> {
    const stacks = await new StackDirectory({ storage: this.#parts.storage }).list(project);
    return new Map(stacks.map(({ reference, name }) => [reference.stack, name]));
  }
}

/** Recipients that a mail waits for alone, without those that its destination has no longer. Sending changes the case of domains. */
function remainingOf(
  { recipients }: NotificationWait,
  destination: Pick<NotificationDestination, "recipients">,
): readonly string[] {
  const known = new Set(destination.recipients.map((one) => one.toLowerCase()));
  return recipients.filter((one) => known.has(one.toLowerCase()));
}
