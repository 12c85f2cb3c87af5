import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OperationIdentity } from "@stackwright/mux/router";
import { parseGrpcError, sanitizeRemoteText } from "../envelope/grpc-text.ts";
import { type MethodFacts, OUTCOME_METHOD } from "../envelope/methods.ts";
import type { EnvelopeResponse } from "../envelope/response.ts";
import { FgBridgeError } from "../errors.ts";
import type { EnvelopeSender } from "./envelope-call.ts";

interface OperationOutcomeQuery {
  readonly sender: EnvelopeSender;
  readonly method: MethodFacts;
  /** Why the outcome is open. */
  readonly error: FgBridgeError;
  readonly sessionId: string;
  readonly operation: OperationIdentity;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Pauses between two questions, in milliseconds: the first, and the longest. */
const PAUSES = [100, 2000] as const;

/**
 * Asks the function's journal what became of an operation.
 *
 * The question changes nothing at a provider, so it may be repeated. A journal that answers `not-applied` refuses from
 * then on this attempt and earlier ones, should they still arrive: only then is the answer a proof. A function
 * without a journal refuses the question, and the outcome stays open.
 *
 * @returns the response of the operation; or the error, as `not-applied` where that is proven
 */
export async function queryOperationOutcome(
  question: OperationOutcomeQuery,
): Promise<Uint8Array | FgBridgeError> {
  const { error, signal, clock, timeoutMs, logger, operation } = question;
  const deadline = clock.monotonicMs() + timeoutMs;
  let [pause] = PAUSES as readonly [number, number];
  for (;;) {
    let answer: EnvelopeResponse | undefined;
    try {
      answer = await ask(question);
    } catch (failure) {
      signal.throwIfAborted();
      if (!FgBridgeError.from(failure).retryable) return error;
    }
    const outcome = answer?.outcome;
    logger.info(
      { callId: operation.operationId, outcome },
      "asked for the outcome of an operation",
    );
    if (answer !== undefined && outcome === "done") {
      return answer.error === "" ? answer.responseData : storedError(question, answer.error);
    }
    // A refusal says of the question itself that it was not applied, which proves nothing of the operation.
    if (outcome === "not-applied" && answer?.error === "") {
      return new FgBridgeError(error.code, error.message, {
        cause: error,
        outcome: "not-applied",
        retryable: error.retryable,
        method: question.method.name,
      });
    }
    // No journal, or one that does not know the result.
    if (answer !== undefined && outcome !== "running") return error;
    if (clock.monotonicMs() + pause > deadline) return error;
    await sleep(clock, pause, signal);
    pause = Math.min(pause * 2, PAUSES[1]);
  }
}

function ask({
  sender,
  sessionId,
  operation,
  attempt,
  signal,
}: OperationOutcomeQuery): Promise<EnvelopeResponse> {
  const nothing = new Uint8Array();
  return sender.send({
    method: { name: "Outcome", path: OUTCOME_METHOD, asynchronous: false, repeatable: true },
    request: {
      requestData: nothing,
      sessionId,
      configData: nothing,
      extensions: { callId: operation.operationId, epoch: operation.epoch, attempt },
    },
    signal,
    keepError: true,
  });
}

/** The operation itself ended with an error. */
function storedError({ error, method }: OperationOutcomeQuery, text: string): FgBridgeError {
  const { status, description } = parseGrpcError(text);
  const message = `${method.name}: ${sanitizeRemoteText(description)}`;
  return new FgBridgeError("FG_FUNCTION_ERROR", message, {
    status,
    method: method.name,
    cause: error,
  });
}
