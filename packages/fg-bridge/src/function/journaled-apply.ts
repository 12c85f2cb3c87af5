import { createHash } from "node:crypto";
import { formatGrpcError } from "../envelope/grpc-text.ts";
import type { EnvelopeRequest } from "../envelope/request.ts";
import type { EnvelopeResponse } from "../envelope/response.ts";
import { FgBridgeError } from "../errors.ts";
import type {
  AttemptAdmission,
  OperationJournal,
  OperationKey,
  StoredResult,
} from "./operation-journal.ts";

/**
 * Applies at most once per operation: the first delivery runs, every other one gets the result of the first.
 *
 * A delivery that fails before the provider was asked for the change gives its attempt up, and says `not-applied`; one
 * that fails later stays open, and is reported as such, until a result is stored.
 */
export class JournaledApply {
  readonly #journal: OperationJournal;
  /** Operations that run in this instance, for deliveries that come meanwhile. */
  readonly #running = new Map<string, Promise<EnvelopeResponse>>();

  /** Admissions in progress, by operation. */
  readonly #admissions = new Map<string, Promise<void>>();
  readonly #onError: (error: unknown) => void;

  /** @param onError gets failures of the journal itself, which must not cost a caller its answer */
  constructor(journal: OperationJournal, onError: (error: unknown) => void) {
    this.#journal = journal;
    this.#onError = onError;
  }

  /**
   * @param untilMs when the run will have ended for sure, in milliseconds since the Unix epoch
   * @param call does it; calls `onBegin` at the last moment before the provider is asked
   * @throws FgBridgeError `FG_OPERATION_CONFLICT`, `FG_EPOCH_STALE`, `FG_OPERATION_UNRESOLVED`,
   * `FG_OPERATION_RUNNING`, and what `call` throws
   */
  async run(
    request: EnvelopeRequest,
    caller: string,
    untilMs: number,
    call: (onBegin: () => void) => Promise<Uint8Array>,
  ): Promise<EnvelopeResponse> {
    const { callId = "", attempt = 0, epoch = 0n } = request.extensions;
    const key: OperationKey = { caller, sessionId: request.sessionId, callId };
    const requestHash = createHash("sha256").update(request.requestData).digest("hex");
    const delivery = { attempt, epoch, requestHash, untilMs };
    const name = nameOf(key);
    // One after the other: a caller that learns that the operation runs has to find it among the running ones.
    const admitted = (this.#admissions.get(name) ?? Promise.resolve()).then(async () => {
      const admission = await this.#journal.begin(key, delivery);
      if (admission.kind !== "run") return { admission };
      return { admission, running: this.#register(name, this.#first(key, attempt, call)) };
    });
    const settled = admitted.then(
      () => undefined,
      () => undefined,
    );
    this.#admissions.set(name, settled);
    let announced: Awaited<typeof admitted>;
    try {
      announced = await admitted;
    } catch (cause) {
      this.#onError(cause);
      const reason = cause instanceof Error ? cause.message : String(cause);
      // This delivery does nothing; whether an earlier one did, only the record could say.
      const text = `the operation cannot be recorded, and is not begun now: ${reason}`;
      throw new FgBridgeError("FG_OPERATION_UNRESOLVED", text, { cause, status: "UNAVAILABLE" });
    } finally {
      if (this.#admissions.get(name) === settled) this.#admissions.delete(name);
    }
    return announced.running ?? this.#repeated(key, announced.admission);
  }

  #register(name: string, first: Promise<EnvelopeResponse>): Promise<EnvelopeResponse> {
    const running = first.finally(() => this.#running.delete(name));
    // Its failure reaches the callers that wait for it; there may be none.
    running.catch(() => undefined);
    this.#running.set(name, running);
    return running;
  }

  /** Answers the question what became of an operation. */
  async outcome(request: EnvelopeRequest, caller: string): Promise<EnvelopeResponse> {
    const { callId, attempt = 0 } = request.extensions;
    if (callId === undefined) {
      throw new FgBridgeError("FG_ENVELOPE_INVALID", "the question needs a context.call_id");
    }
    const key: OperationKey = { caller, sessionId: request.sessionId, callId };
    const state = await this.#journal.outcome(key, attempt);
    const nothing = { responseData: new Uint8Array(), error: "" };
    if (state.kind === "done") return { ...state.result, outcome: "done" };
    return { ...nothing, outcome: state.kind === "unresolved" ? "unknown" : state.kind };
  }

  async #first(
    key: OperationKey,
    attempt: number,
    call: (onBegin: () => void) => Promise<Uint8Array>,
  ): Promise<EnvelopeResponse> {
    let begun = false;
    let result: StoredResult;
    try {
      const responseData = await call(() => {
        begun = true;
      });
      result = { responseData, error: "" };
    } catch (thrown) {
      const error = FgBridgeError.from(thrown, begun ? "unknown" : "not-applied");
      if (!begun || error.outcome === "not-applied") {
        await this.#journal.giveUp(key, attempt).catch(this.#onError);
        throw error;
      }
      // An answer of the provider is a result, even if it is an error. Its loss is none: that stays open.
      if (error.code !== "FG_FUNCTION_ERROR") throw error;
      result = {
        responseData: new Uint8Array(),
        error: formatGrpcError(error.status, error.message),
      };
    }
    // An answer that could not be stored is still the answer; only a repetition will not find it.
    await this.#journal.finish(key, attempt, result).catch(this.#onError);
    return result;
  }

  async #repeated(key: OperationKey, admission: AttemptAdmission): Promise<EnvelopeResponse> {
    if (admission.kind === "done") return { ...admission.result, outcome: "done" };
    if (admission.kind === "refused") throw refusals[admission.reason]();
    if (admission.kind === "unresolved") {
      const text = "the operation was begun earlier, and its end is not known";
      throw new FgBridgeError("FG_OPERATION_UNRESOLVED", text);
    }
    const running = this.#running.get(nameOf(key));
    if (running !== undefined) return running;
    // By another instance, or it ended at this moment: the caller asks again.
    throw new FgBridgeError("FG_OPERATION_RUNNING", "the operation runs elsewhere already");
  }
}

const refusals = {
  conflict: () =>
    new FgBridgeError(
      "FG_OPERATION_CONFLICT",
      "an operation with this id was sent before with another request",
    ),
  stale: () =>
    new FgBridgeError("FG_EPOCH_STALE", "the operation was sent before under a higher epoch"),
  "given-up": () =>
    new FgBridgeError(
      "FG_OPERATION_CONFLICT",
      "this attempt was canceled before it arrived and is not started",
      // No attempt of the operation was begun.
      { outcome: "not-applied" },
    ),
} as const;

function nameOf({ caller, sessionId, callId }: OperationKey): string {
  return JSON.stringify([caller, sessionId, callId]);
}
