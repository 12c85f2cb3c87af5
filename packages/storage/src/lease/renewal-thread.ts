import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "@stackwright/base/clock";
import type { StorageError } from "../errors.ts";
import type { StorageBackend } from "../types.ts";
import { createUlidGenerator } from "../ulid.ts";
import { mayPass, Renewal } from "./renewal.ts";
import {
  ALIVE_AT,
  IS_UP,
  RENEWED_AT,
  STAGE,
  Stage,
  type ThreadData,
  type ThreadMessage,
  type ThreadRequest,
} from "./thread-protocol.ts";

// Entry of the renewal thread. It has its own connection to the store and its own timers, so it
// renews on time however long the turns of the other threads are. A worker that is stuck for good
// must not keep its leases for ever, though: when the other side has not run for too long, the
// thread lets them go.

const port = parentPort;
if (port === null) throw new Error("the renewal thread is not a program");
const send = (message: ThreadMessage): void => port.postMessage(message);

const { source, alive, maxSilenceMs } = workerData as ThreadData;
const shared = new BigInt64Array(alive);
Atomics.store(shared, IS_UP, 1n);
const clock = systemClock;
const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
const renewals = new Map<number, Renewal>();

let opening: Promise<StorageBackend> | undefined;
let storage: StorageBackend | undefined;

port.on("message", (request: ThreadRequest) => void handle(request));
// Ahead of the first renewal, which finds a connection then.
openStorage().catch(() => undefined);

const supervision = setInterval(() => {
  const silentMs = clock.monotonicMs() - Number(Atomics.load(shared, ALIVE_AT)) / 1_000;
  if (silentMs < maxSilenceMs) return;
  for (const id of renewals.keys()) void drop(id, "the worker no longer runs");
}, maxSilenceMs / 10);

/**
 * The store of this thread. Leases are held already while it opens, so one that is unavailable, or refuses for now, is
 * opened again by the next renewal, until the deadlines of the leases; any other failure ends the
 * thread, and with it the leases.
 */
function openStorage(): Promise<StorageBackend> {
  opening ??= open().catch((error: unknown) => {
    opening = undefined;
    const failure = (error ?? {}) as Partial<StorageError>;
    if (failure.retryable !== true && !mayPass(failure)) setImmediate(() => fail(error));
    throw error;
  });
  return opening;
}

async function open(): Promise<StorageBackend> {
  const factories = (await import(source.module)) as Record<
    string,
    (options: unknown) => StorageBackend | Promise<StorageBackend>
  >;
  const factory = factories[source.factory];
  if (factory === undefined) throw new Error(`${source.module} exports no ${source.factory}`);
  storage = await factory(source.options);
  return storage;
}

/** Outside of every promise: the other side receives it as the error of this thread. */
function fail(error: unknown): never {
  throw error;
}

async function handle(request: ThreadRequest): Promise<void> {
  switch (request.kind) {
    case "start": {
      const { id, task } = request;
      const lease = new BigInt64Array(request.shared);
      // It may have ended while this thread was loaded.
      if (Atomics.compareExchange(lease, STAGE, Stage.waiting, Stage.begun) !== Stage.waiting)
        return;
      const renewal = new Renewal(task, {
        storage: openStorage,
        clock,
        token,
        onRenewed: (startedAt) => {
          Atomics.store(lease, RENEWED_AT, BigInt(Math.floor(startedAt * 1_000)));
        },
        onLost: (error) => {
          renewals.delete(id);
          const { lost = "refused" } = error.details;
          send({ kind: "lost", id, lost, message: error.message });
        },
      });
      renewals.set(id, renewal);
      renewal.start();
      return;
    }
    case "stop":
      await renewals.get(request.id)?.stop();
      renewals.delete(request.id);
      send({ kind: "stopped", id: request.id });
      return;
    case "close":
      clearInterval(supervision);
      await Promise.all(Array.from(renewals.values(), (renewal) => renewal.stop()));
      // One that is still being opened ends with the thread.
      await storage?.close();
      send({ kind: "closed" });
      port?.close();
      return;
    default:
      request satisfies never;
  }
}

async function drop(id: number, message: string): Promise<void> {
  const renewal = renewals.get(id);
  renewals.delete(id);
  await renewal?.stop();
  send({ kind: "lost", id, lost: "refused", message });
}
