import type { Clock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import type { ProcessLine } from "./launch-options.ts";

/** As Pulumi's SDK for Node writes what the code of a provider throws where nothing catches it. */
const REPORT = /^error: \[runtime\] (?:Error: )?(.*)$/;

/** A program that writes an error and answers its call nevertheless does so in this time. */
const ANSWER_MS = 1_000;

/**
 * How long a further call of such a program may take. The SDK writes what it has written before not once more: a text that is thrown again
 * leaves nothing but silence.
 */
const AGAIN_MS = 30_000;

/**
 * The errors that a program on Pulumi's SDK for Node throws in Parameterize. The SDK writes each of them once, and leaves the call
 * without an answer: its caller would wait until its own deadline.
 */
export class ThrownErrors {
  readonly #clock: Clock;
  readonly #listeners = new Set<(text: string) => void>();
  /** What a former call was left without an answer for. */
  #former: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Is given every line that the program writes. */
  add({ stream, text }: ProcessLine): void {
    const [, thrown] = (stream === "stderr" && REPORT.exec(text)) || [];
    if (thrown !== undefined) for (const listener of this.#listeners) listener(thrown);
  }

  /**
   * The answer of a call; `UNKNOWN` with the first error that was written during it, where none follows soon. After such a call, one
   * that is not answered in half a minute has thrown the same, as far as can be known.
   */
  async orAnswerOf<T>(
    call: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const given = new AbortController();
    const thrown = deferred<never>();
    const fail = (text: string): void => {
      const error = new RpcError("UNKNOWN", text);
      thrown.reject(error);
      given.abort(error);
    };
    let timer: Disposable | undefined;
    const listener = (text: string): void => {
      timer ??= this.#clock.after(ANSWER_MS, () => {
        this.#former = text;
        fail(text);
      });
    };
    const former = this.#former;
    const silence =
      former === undefined
        ? undefined
        : this.#clock.after(AGAIN_MS, () => {
            fail(`it gives no answer, as before, when it wrote: ${former}`);
          });
    this.#listeners.add(listener);
    try {
      const both = signal === undefined ? given.signal : AbortSignal.any([signal, given.signal]);
      return await Promise.race([call(both), thrown.promise]);
    } finally {
      this.#listeners.delete(listener);
      timer?.[Symbol.dispose]();
      silence?.[Symbol.dispose]();
    }
  }
}
