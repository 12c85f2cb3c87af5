import { randomBytes } from "node:crypto";
import { EventEmitter, on } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import {
  createStackStates,
  createStoredKeys,
  keyEncryptionKey,
  type RunPhase,
  type StackReference,
  storedRunPhase,
} from "@stackwright/core";
import { type Run, Run_Mode } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, onTestFinished } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import type { ExecutionJob } from "../executor/execution-job.ts";
import type { ExecutionEnd, ExecutionHost, Executor } from "../executor/executor.ts";
import { PolicyRunner } from "../policy/policy-runner.ts";
import { TicketBoard } from "../queue/ticket-board.ts";
import { idOf } from "../queue/transaction.ts";
import { startRunWorker } from "../worker/run-worker.ts";
import type { StepLimits } from "../worker/step-deadline.ts";
import { createRunFixture, type RunFixture } from "./run-fixture.ts";

/** What a step is to an executor that a test plays. */
interface PlayedStep {
  readonly job: ExecutionJob;
  readonly host: ExecutionHost;
  /** Resolves with the stage when the worker stops the step, at the latest with stage 2. */
  readonly stopped: Promise<1 | 2>;
  /** The stages in which the step is stopped. */
  readonly stops: AsyncIterable<1 | 2>;
  readonly fixture: RunFixture;
}

type Play = (step: PlayedStep) => Promise<ExecutionEnd>;

const EMPTY = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };

/** Makes a plan, as an executor does that meets no trouble. */
export async function playPlan({ job, host, fixture }: PlayedStep): Promise<ExecutionEnd> {
  await host.beginPlanning();
  const planDigest = await fixture.plan(job.stack, job.run);
  const result = {
    planDigest,
    baseRevision: "0",
    summary: EMPTY,
    documentSha256: "",
    viewSha256: "",
  };
  return { how: "result", result: { phase: "planned", ...result } };
}

/** A worker over a store in memory whose executor is played by the test, with a stack `one`. */
export async function startFakeWorker(
  play: Play,
  {
    storage = createMemoryStorage(),
    timing,
    limits,
    capacity,
    clock = systemClock,
    sweepMs = 50,
    random = () => 0.5,
  }: {
    readonly storage?: StorageBackend;
    /** What the worker measures its times by. */
    readonly clock?: Clock;
    readonly sweepMs?: number;
    readonly random?: () => number;
    readonly timing?: { readonly ttlMs: number };
    readonly limits?: StepLimits;
    readonly capacity?: number;
  } = {},
) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "worker-")));
  const fixture = createRunFixture(storage);
  const blobs = stack.use(await createDirectoryBlobs({ directory: join(scratch.path, "blobs") }));
  const jobs: ExecutionJob[] = [];
  const executor: Executor = {
    kind: "in-process",
    isRemote: false,
    start: (job, host) => {
      jobs.push(job);
      const stopped = Promise.withResolvers<1 | 2>();
      const stages = new EventEmitter();
      const stops = on(stages, "stop");
      const ended = play({
        job,
        host,
        fixture,
        stopped: stopped.promise,
        stops: (async function* () {
          for await (const [stage] of stops) yield stage as 1 | 2;
        })(),
      });
      const stop = (stage: 1 | 2): void => {
        stopped.resolve(stage);
        stages.emit("stop", stage);
      };
      return { ended, stop, [Symbol.asyncDispose]: async () => stop(2) };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const parts = { ...fixture.parts, clock, blobs };
  const reference = await fixture.stack("one");
  const keys = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const tickets = stack.use(new TicketBoard({ ...parts, logger: silentLogger }));
  const worker = stack.use(
    await startRunWorker({
      ...parts,
      tickets,
      keys,
      executor,
      logger: silentLogger,
      policies: new PolicyRunner({ clock }),
      directory: join(scratch.path, "runs"),
      sweepMs,
      random,
      stackOf: async (stack) =>
        Promise.resolve({
          name: "one",
          reference: stack,
          description: "",
          createdAtMs: 0,
          adoption: undefined,
        }),
      ...(timing !== undefined && { timing }),
      ...(limits !== undefined && { limits }),
      ...(capacity !== undefined && { capacity }),
    }),
  );
  const read = async (run: RunReference): Promise<Run> =>
    decodeRecord(RUN_KIND, await storage.read("strong", idOf(RUN_KIND, runPlace(run))));
  return {
    fixture,
    parts,
    keys,
    states: createStackStates({ storage, blobs, ciphers: keys, owner: "executor" }),
    worker,
    folder: join(scratch.path, "runs"),
    jobs,
    reference,
    read,
    enqueue: async (autoApply = false, stackOf: StackReference = reference, name = "one") =>
      fixture.enqueue(stackOf, name, Run_Mode.MODE_APPLY, autoApply),
    reaches: async (run: RunReference, phase: RunPhase): Promise<Run> => {
      await expect
        .poll(async () => storedRunPhase((await read(run)).phase), { timeout: 20_000 })
        .toBe(phase);
      return read(run);
    },
  };
}
