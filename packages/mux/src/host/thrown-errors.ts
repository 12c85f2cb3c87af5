import type { Clock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import type { ProcessLine } from "./launch-options.ts";

/** As Pulumi's SDK for Node writes what the code of a provider throws where nothing catches it. */
const REPORT = /^error: \[runtime\] (?:Error: )?(.*)$/;

/** A program that writes an error and answers its call nevertheless does so in this time. */
const ANSWER_MS = 1_000;

/**
 * The errors that a program on Pulumi's SDK for Node throws in Parameterize. The SDK writes them, and leaves the call without an
 * answer: its caller would wait until its own deadline.
 */
export class ThrownErrors {
  readonly #clock: Clock;
  readonly #listeners = new Set<(text: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Is given every line that the program writes. */
  add({ stream, text }: ProcessLine): void {
    const [, thrown] = (stream === "stderr" && REPORT.exec(text)) || [];
    if (thrown !== undefined) for (const listener of this.#listeners) listener(thrown);
  }

  /** The answer of a call; `UNKNOWN` with the first error that was written during it, where none follows soon. */
  async orAnswerOf<T>(
    call: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const given = new AbortController();
    const thrown = deferred<never>();
    let timer: Disposable | undefined;
    const listener = (text: string): void => {
      timer ??= this.#clock.after(ANSWER_MS, () => {
        const error = new RpcError("UNKNOWN", text);
        thrown.reject(error);
        given.abort(error);
      });
    };
    this.#listeners.add(listener);
    try {
      const both = signal === undefined ? given.signal : AbortSignal.any([signal, given.signal]);
      return await Promise.race([call(both), thrown.promise]);
    } finally {
      this.#listeners.delete(listener);
      timer?.[Symbol.dispose]();
    }
  }
}
