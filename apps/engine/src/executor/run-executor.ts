import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { EngineError } from "@stackwright/core/errors";
import { createRemoteBlobs } from "@stackwright/storage/blob/remote";
import { createThreadRenewer } from "@stackwright/storage/lease";
import { createRemoteStorage } from "@stackwright/storage/remote";
import type { RegistryAnswer } from "../domain/registry-query.ts";
import type { IdentityToken } from "../domain/requested-identity.ts";
import { isOutputLine } from "../domain/run-log-event.ts";
import { ServerError } from "../domain/server-error.ts";
import type { SchemaAnswer } from "../domain/upstream-schema.ts";
import { fittingEvent } from "../logs/fitting-event.ts";
import { CHILD_PROTOCOL, type ControlFrame, type EventFrame } from "./child-protocol.ts";
import { executeJob } from "./execute-job.ts";
import type { ExecutionJob, ExecutionResult } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { readFrames, writeFrame } from "./frames.ts";
import type { OtherStack } from "./other-stacks.ts";

interface ExecutorStreams {
  /** From the worker: the job, answers, cancels. */
  readonly control: Readable;
  /** To the worker. */
  readonly events: Writable;
  /** Ends this process with everything that it started. */
  readonly kill: () => void;
  /** Makes this process that of a job, before anything else is done for it. @default it is already */
  readonly enter?: (job: ExecutionJob) => void;
}

const ORPHAN_MS = 10_000;
/** Many an apply is over before its lease is renewed for the first time, after 5 s: it needs no thread that renews. */
const RENEWAL_DELAY_MS = 1_000;
/** Beyond so many bytes that the worker has not read, output is dropped and counted: some programs do not wait. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * An executor as a process of its own, which this ends. It knows its job from its control stream alone, reaches the store with the
 * token of its run, and ends with its worker: the end of the control stream is a cancel with 10 s for what is being called.
 */
export async function runExecutor({
  control,
  events,
  kill,
  enter,
}: ExecutorStreams): Promise<void> {
  events.on("error", () => undefined);
  const stop = new AbortController();
  const force = new AbortController();
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let requests = 0;
  let dropped = 0;
  let running: Promise<void> | undefined;

  const send = async (frame: EventFrame): Promise<void> => writeFrame(events, frame);

  async function ask(
    frame: (id: number) => EventFrame & { readonly id: number },
  ): Promise<unknown> {
    requests += 1;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(requests, answer);
    await send(frame(requests));
    return answer.promise;
  }

  const host: ExecutionHost = {
    onEvent: (event, at) => {
      const isOutput = isOutputLine(event);
      if (isOutput && events.writableLength > HELD_BYTES) {
        dropped += 1;
        return undefined;
      }
      if (dropped > 0) {
        void send({ type: "event", at, event: { type: "gap", dropped } });
        dropped = 0;
      }
      const sent = send({ type: "event", at, event }).catch(async () =>
        // Too large for a frame; the log of the run would cut it, too.
        send({ type: "event", at, event: fittingEvent(event) }),
      );
      return isOutput && events.writableNeedDrain ? sent : undefined;
    },
    beginPlanning: async () => {
      await ask((id) => ({ type: "begin-planning", id }));
    },
    beginApply: async (epoch) => {
      await ask((id) => ({ type: "begin-apply", id, epoch: String(epoch) }));
    },
    readOtherStack: async (name) =>
      (await ask((id) => ({ type: "read-stack", id, name }))) as OtherStack | undefined,
    identityTokens: async () =>
      (await ask((id) => ({ type: "identity", id }))) as readonly IdentityToken[],
    readRegistry: async (query) =>
      (await ask((id) => ({ type: "registry", id, query }))) as RegistryAnswer,
    recordState: async (content) => {
      await ask((id) => ({ type: "record-state", id, content }));
    },
    handInSchema: async (offered) =>
      (await ask((id) => ({ type: "schema", id, offered }))) as SchemaAnswer,
  };

  async function run(job: ExecutionJob): Promise<void> {
    enter?.(job);
    const { store } = job;
    if (store === undefined) throw new TypeError("the job names no store");
    const { address, token, tls } = store;
    const connection = { address, token, ...(tls !== undefined && { tls }) };
    await using stack = new AsyncDisposableStack();
    const openingBlobs = createRemoteBlobs(connection);
    // It is awaited after the store, which may fail before it.
    openingBlobs.catch(() => undefined);
    const storage = stack.use(await createRemoteStorage(connection));
    const blobs = stack.use(await openingBlobs);
    const renewer = stack.use(
      createThreadRenewer({
        source: {
          module: "@stackwright/storage/remote",
          factory: "createRemoteStorage",
          options: connection,
        },
        startDelayMs: RENEWAL_DELAY_MS,
      }),
    );
    const signals = { stop: stop.signal, force: force.signal };
    const ground = { storage, blobs, renewer, env: process.env };
    const result: ExecutionResult = await executeJob(job, host, signals, ground);
    await send({ type: "result", result });
    await new Promise<void>((resolve) => {
      events.end(resolve);
    });
  }

  function receive(frame: ControlFrame): void {
    switch (frame.type) {
      case "job":
        running = run(frame.job).catch((error: unknown) => {
          process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
          process.exitCode = 1;
        });
        running.then(
          () => process.exit(),
          () => process.exit(1),
        );
        return;
      case "cancel":
        stop.abort(new Error("canceled"));
        if (frame.stage === 2) force.abort(new Error("canceled at once"));
        return;
      case "answer": {
        const answer = waiting.get(frame.id);
        waiting.delete(frame.id);
        if (frame.error === undefined) answer?.resolve(frame.value);
        else answer?.reject(errorOf(frame, frame.error));
        return;
      }
      default:
        throw new TypeError(`an unknown frame: ${JSON.stringify(frame satisfies never)}`);
    }
  }

  await send({ type: "hello", protocol: CHILD_PROTOCOL, pid: process.pid });
  for await (const frame of readFrames(control)) receive(frame as ControlFrame);
  // The worker is gone.
  stop.abort(new Error("the worker ended"));
  setTimeout(kill, ORPHAN_MS).unref();
  setTimeout(() => force.abort(new Error("the worker ended")), ORPHAN_MS / 2).unref();
  if (running === undefined) process.exit(2);
}

function errorOf(
  { code, serverCode }: Extract<ControlFrame, { type: "answer" }>,
  text: string,
): Error {
  if (code !== undefined) return new EngineError(code, text);
  return serverCode === undefined ? new Error(text) : new ServerError(serverCode, text);
}
