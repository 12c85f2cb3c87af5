import type { Readable, Writable } from "node:stream";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";
import { isServerError } from "../domain/server-error.ts";
import { CHILD_PROTOCOL, type ControlFrame, type EventFrame } from "./child-protocol.ts";
import type { ExecutionJob, ExecutionResult } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { readFrames, writeFrame } from "./frames.ts";

interface ExecutionPipesOptions {
  readonly job: ExecutionJob;
  readonly host: ExecutionHost;
  readonly control: Writable;
  readonly events: Readable;
  readonly logger?: Logger | undefined;
  /** The executor answers. */
  readonly onHello: () => void;
  /** The executor has to end: its job does not fit into a frame, or it broke the protocol. */
  readonly onFailure: (reason: "too_large" | "protocol") => void;
}

/** What a worker and an executor in another process say to each other, seen from the worker. Begins with the job. */
export class ExecutionPipes {
  /** Resolves when the executor says nothing more. */
  readonly ended: Promise<void>;
  readonly #host: ExecutionHost;
  readonly #control: Writable;
  readonly #options: ExecutionPipesOptions;
  #result: ExecutionResult | undefined;

  constructor(options: ExecutionPipesOptions) {
    this.#options = options;
    this.#host = options.host;
    this.#control = options.control;
    // The executor may be gone while something is said to it.
    this.#control.on("error", () => undefined);
    this.ended = this.#read(options.events).catch((error: unknown) => {
      options.logger?.error({ run: options.job.run, err: error }, "an executor broke the protocol");
      options.onFailure("protocol");
    });
    this.#say({ type: "job", job: options.job });
  }

  /** How the step ended, once the executor has said so. */
  get result(): ExecutionResult | undefined {
    return this.#result;
  }

  cancel(stage: 1 | 2): void {
    this.#say({ type: "cancel", stage });
  }

  async #read(events: Readable): Promise<void> {
    for await (const frame of readFrames(events)) {
      const received = frame as EventFrame;
      switch (received.type) {
        case "hello":
          if (received.protocol !== CHILD_PROTOCOL) {
            throw new TypeError("the executor is of a release that does not fit the worker");
          }
          this.#options.onHello();
          break;
        case "event":
          // What is not read waits in the executor.
          await this.#host.onEvent(received.event, received.at);
          break;
        case "begin-planning":
          void this.#answer(received.id, this.#host.beginPlanning());
          break;
        case "begin-apply":
          void this.#answer(received.id, this.#host.beginApply(BigInt(received.epoch)));
          break;
        case "read-stack":
          void this.#answer(received.id, this.#host.readOtherStack(received.name));
          break;
        case "identity":
          void this.#answer(received.id, this.#host.identityTokens());
          break;
        case "registry":
          void this.#answer(received.id, this.#host.readRegistry(received.query));
          break;
        case "record-state":
          void this.#answer(received.id, this.#host.recordState(received.content));
          break;
        case "schema":
          void this.#answer(received.id, this.#host.handInSchema(received.offered));
          break;
        case "result":
          this.#result = received.result;
          break;
        default:
          throw new TypeError(`an unknown frame: ${JSON.stringify(received satisfies never)}`);
      }
    }
  }

  async #answer(id: number, asked: Promise<unknown>): Promise<void> {
    try {
      const value = await asked;
      this.#say({ type: "answer", id, value });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof EngineError ? { code: error.code } : {};
      const serverCode = isServerError(error) ? { serverCode: error.code } : {};
      this.#say({ type: "answer", id, error: message, ...code, ...serverCode });
    }
  }

  #say(frame: ControlFrame): void {
    if (!this.#control.writable) return;
    writeFrame(this.#control, frame).catch(() => this.#options.onFailure("too_large"));
  }
}
