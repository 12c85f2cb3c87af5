import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { isClientError, type ServerClient } from "@stackwright/client";
import { EngineError } from "@stackwright/core/errors";
import type { RegistryAnswer } from "../domain/registry-query.ts";
import { isServerError, isServerErrorCode, ServerError } from "../domain/server-error.ts";
import type { OtherStack } from "../executor/other-stacks.ts";
import type { ClaimHost, ClaimJob } from "../worker/claim-host.ts";
import { WORKER_PROTOCOL } from "../worker/remote-protocol.ts";

interface RemoteClaimParts {
  /** With the token of the claim. */
  readonly client: ServerClient;
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the worker loses its lease. */
  readonly lost: AbortSignal;
  /** Aborts when the worker ends in an orderly way: what it gives back from then on was not lost. */
  readonly ending: AbortSignal;
}

/** How long a server that is away is left alone. */
const AWAY_MS = 1_000;
/** How often a server of this release is looked for behind an address that others have, too, before a step is given back. */
const START_ATTEMPTS = 5;
/** Length of a reason that is sent. */
const MAX_REASON = 8_192;

/**
 * The host of a claim behind the API of a server. Every request may be sent again: a server that did it, and whose answer was lost,
 * answers the same.
 */
export function remoteClaimHost({
  client,
  run,
  clock,
  logger,
  lost,
  ending,
}: RemoteClaimParts): ClaimHost {
  let batch = 0;
  /** Sends until it is answered, or the lease is lost. */
  const insist = async <T>(send: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (isClaimLost(error)) throw new ServerError("claim_lost", undefined, { cause: error });
        if (!isAway(error) || lost.aborted) throw error;
        logger.warn({ run, err: error }, "the server is away, and asked again");
        await sleep(clock, AWAY_MS, lost).catch(() => undefined);
      }
    }
  };
  return {
    isAway,
    job: async () => {
      for (let attempt = 1; ; attempt += 1) {
        const { data } = await insist(async () => client.startClaim({ run }));
        if (data.protocol === WORKER_PROTOCOL) return data.job as unknown as ClaimJob;
        if (attempt === START_ATTEMPTS || lost.aborted) throw new OtherRelease(data.protocol);
        await sleep(clock, AWAY_MS, lost).catch(() => undefined);
      }
    },
    beginPlanning: async () => {
      await insist(async () => client.beginPlanning({ run }));
    },
    beginApply: async (epoch) => {
      const body = { epoch: epoch.toString() };
      try {
        await insist(async () => client.beginApply({ run, body }));
      } catch (error) {
        if (!isClientError(error) || error.code !== "unprocessable") throw error;
        throw new EngineError("ENGINE_STATE_NOT_ADOPTED", error.message, { cause: error });
      }
    },
    readOtherStack: async (name) => {
      try {
        const { data } = await insist(async () => client.readOtherStack({ run, body: name }));
        return data.found as OtherStack | undefined;
      } catch (error) {
        if (!isClientError(error) || error.code !== "unprocessable") throw error;
        throw new EngineError("ENGINE_INPUT_UNAVAILABLE", error.message, { cause: error });
      }
    },
    identityTokens: async () => {
      const { data } = await insist(async () => client.issueRunIdentity({ run }));
      return data.tokens.map(({ tag, token, expires_at: expires }) => ({
        tag,
        token,
        expiresAtMs: Date.parse(expires),
      }));
    },
    readRegistry: async (query) => {
      try {
        const { data } = await insist(async () => client.readRegistry({ run, body: query }));
        return data as unknown as RegistryAnswer;
      } catch (error) {
        if (!isClientError(error) || error.code !== "unprocessable") throw error;
        throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", error.message, { cause: error });
      }
    },
    recordState: async (content) => {
      try {
        await insist(async () => client.recordState({ run, body: content }));
      } catch (error) {
        if (!isClientError(error) || !isServerErrorCode(error.code)) throw error;
        throw new ServerError(error.code, error.message, { cause: error });
      }
    },
    handInSchema: async ({ blob, ...offered }) => {
      const body = { ...offered, ...(blob !== undefined && { blob }) };
      const { data } = await insist(async () => client.handInSchema({ run, body }));
      return data.answer;
    },
    append: async (events) => {
      const body = { batch: batch + 1, events };
      await insist(async () => client.appendEvents({ run, body }));
      batch += 1;
    },
    end: async (end, late) => {
      try {
        const body = {
          end: shortened(end),
          ...(late !== undefined && { late }),
          returned: ending.aborted,
        };
        await client.endClaim({ run, body });
      } catch (error) {
        // An end that was written ends the claim, too, and its answer may be lost.
        if (!isClaimLost(error)) throw error;
        logger.warn({ run }, "the claim of an ended step is over");
      }
    },
    giveUp: async (error) => {
      if (isServerError(error, "claim_lost") || isClaimLost(error)) return;
      const reason = error instanceof Error ? error.message : String(error);
      try {
        const given_up = reason.slice(0, MAX_REASON);
        // Nothing of the step has begun, and the servers of this release, or their workers, execute it.
        const isUntouched = error instanceof OtherRelease;
        await insist(async () =>
          client.endClaim({ run, body: { given_up, returned: isUntouched || ending.aborted } }),
        );
      } catch (thrown) {
        // The server releases what this worker does not execute.
        if (isServerError(thrown, "claim_lost")) return;
        logger.error({ run, err: thrown }, "a claim was not released");
      }
    },
  };
}

/** A server of another release answered the start of a step. */
class OtherRelease extends ServerError {
  constructor(protocol: number) {
    super(
      "conflict",
      `the server speaks version ${protocol} with workers, and this worker version ${WORKER_PROTOCOL}: install the same release`,
    );
  }
}

/** Whether a server says that the token of a claim is not valid any more. */
export function isClaimLost(error: unknown): boolean {
  return isClientError(error) && (error.code === "unauthenticated" || error.code === "claim_lost");
}

/** Whether the server is away. It is not where another one failed that it asked, such as an upstream registry, which may do so for long. */
function isAway(error: unknown): boolean {
  return isClientError(error) && error.retryable && error.code !== "upstream_failed";
}

/** An end whose reason fits into a request. */
function shortened(end: Parameters<ClaimHost["end"]>[0]): Parameters<ClaimHost["end"]>[0] {
  if (end.how === "lost" && end.detail !== undefined) {
    return { ...end, detail: end.detail.slice(0, MAX_REASON) };
  }
  if (end.how !== "result" || !("reason" in end.result)) return end;
  const { reason } = end.result;
  if (reason === undefined || reason.length <= MAX_REASON) return end;
  return { how: "result", result: { ...end.result, reason: reason.slice(0, MAX_REASON) } };
}
