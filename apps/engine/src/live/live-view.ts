import { randomBytes } from "node:crypto";
import type { Logger } from "@stackwright/base/logger";
import { type Collection, createRuntime, type Inspector } from "@stackwright/krt";
import type { StorageBackend } from "@stackwright/storage";
import { ChangeRing } from "./change-ring.ts";
import { followKind } from "./follow-kind.ts";
import { LOCKS, OUTPUTS, QUEUES, RUNS, STACKS } from "./stack-facts.ts";
import { deriveStackStatus, type StackStatus } from "./stack-status.ts";

/** Turns that a reader may be behind before it gets everything again. */
const KEPT_TURNS = 10_000;

/**
 * What one server sees of the whole store, kept current by its watches: it says how things are at a glance, and decides nothing.
 * What has to be right reads the store. A watch that breaks continues by itself; meanwhile the view is of the time before.
 */
export class LiveView implements Disposable {
  /** Of this view: positions in it mean nothing to another one. */
  readonly epoch = randomBytes(6).toString("hex");
  readonly stacks: Collection<StackStatus>;
  readonly stackChanges: ChangeRing<StackStatus>;
  readonly inspector: Inspector;
  readonly #dispose: () => void;

  constructor(parts: { readonly storage: StorageBackend; readonly logger: Logger }) {
    const { logger } = parts;
    const rt = createRuntime({
      onError: (error) => logger.warn({ err: error }, "the live view has an error"),
    });
    this.stacks = deriveStackStatus(rt, {
      stacks: followKind(rt, parts, STACKS),
      queues: followKind(rt, parts, QUEUES),
      runs: followKind(rt, parts, RUNS),
      locks: followKind(rt, parts, LOCKS),
      outputs: followKind(rt, parts, OUTPUTS),
    });
    this.stackChanges = new ChangeRing(this.stacks, KEPT_TURNS);
    this.inspector = rt.inspect();
    this.#dispose = () => rt.dispose();
  }

  [Symbol.dispose](): void {
    this.stackChanges[Symbol.dispose]();
    this.#dispose();
  }
}
