import { sleep } from "@stackwright/base/clock";
import { ClientError, type Operations, type ServerClient } from "@stackwright/client";
import type { StackName } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import { isStorageError } from "@stackwright/storage";
import { isServerError, ServerError } from "../../domain/server-error.ts";
import { appendBatch } from "../../queue/append-batch.ts";
import type { RunClaim } from "../../queue/claim.ts";
import { findClaim } from "../../queue/run-token.ts";
import { WORKER_PROTOCOL } from "../../worker/remote-protocol.ts";
import {
  beginPlanningOnce,
  cancelStageOf,
  endClaim,
  startClaim,
} from "../../worker/remote-requests.ts";
import { storedClaimHost } from "../../worker/stored-claim-host.ts";
import { waitForClaim } from "../../worker/wait-for-claim.ts";
import type { RunSabotage } from "./sabotage.ts";
import { never, type SimProcess } from "./sim-process.ts";
import type { SimServer } from "./sim-server.ts";

/** The credential of all remote workers of a simulation. */
const PRINCIPAL = { actor: "pool", account: "acme", projects: [] };
/** What the ids of its workers begin with. */
export const WORKER_PREFIX = `${PRINCIPAL.actor}.`;

interface SimConnectionParts {
  /** That of the worker. */
  readonly process: SimProcess;
  readonly servers: () => readonly SimServer[];
  readonly sabotage: RunSabotage;
  /** A server failed at a request in a way that it should not. */
  readonly onFailure: (text: string) => void;
}

type Serve<T> = (server: SimServer, gone: AbortSignal) => Promise<T>;
interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** It is repeated all the time, so that nothing happens to it. @default false */
  readonly isLook?: boolean;
}

/**
 * What a remote worker says to servers: its requests get lost before they arrive, or their answers, or they arrive late; it turns to another
 * server where one does not answer. Servers do what their routes do.
 */
export class SimConnection {
  readonly #parts: SimConnectionParts;
  #turn = 0;

  constructor(parts: SimConnectionParts) {
    this.#parts = parts;
  }

  /** The client with a token: of the worker, or of a claim. */
  client(token = ""): ServerClient {
    const { sabotage } = this.#parts;
    const ofClaim =
      <T>(serve: (server: SimServer, claim: RunClaim) => Promise<T>): Serve<T> =>
      async (server) => {
        const found = await findClaim(server.claims, token);
        if (found === undefined) throw new ClientError("unauthenticated", "the claim is over");
        return serve(server, found.claim);
      };
    const calls = {
      claimStep: async ({ body }: Operations["ClaimStep"]["input"], options?: CallOptions) =>
        this.#send(async (server, gone) => {
          const { request = 0 } = body;
          const asked = { ...body, request: sabotage.keepsLost === true ? 1 : request };
          const given = await waitForClaim(server.claims, PRINCIPAL, asked, {
            gone,
            stopping: server.stopping,
            authorizeAgain: async () => Promise.resolve(),
          });
          if (given === undefined) return undefined;
          const { reference, step, attempts, background, cancelStage } = given.claim;
          return {
            protocol: WORKER_PROTOCOL,
            ...reference.stack,
            run: reference.run,
            step,
            attempts,
            background,
            cancel_stage: cancelStage,
            token: given.token,
          };
        }, options),
      showClaim: async (_input: object, options?: CallOptions) =>
        this.#send(
          ofClaim(async ({ claims }, claim) => ({
            cancel_stage: await cancelStageOf(claims, claim),
          })),
          { ...options, isLook: true },
        ),
      startClaim: async () =>
        this.#send(
          ofClaim(async ({ claims }, claim) => ({
            protocol: WORKER_PROTOCOL,
            job: await startClaim(claims, claim),
          })),
        ),
      beginPlanning: async () =>
        this.#send(ofClaim(async ({ claims }, claim) => beginPlanningOnce(claims, claim))),
      beginApply: async ({ body }: Operations["BeginApply"]["input"]) =>
        this.#send(
          ofClaim(async ({ claims }, claim) =>
            storedClaimHost(claims, claim).beginApply(BigInt(body.epoch)),
          ),
        ),
      readOtherStack: async ({ body }: Operations["ReadOtherStack"]["input"]) =>
        this.#send(
          ofClaim(async ({ claims }, claim) => {
            try {
              const found = await storedClaimHost(claims, claim).readOtherStack(body as StackName);
              return { found };
            } catch (error) {
              if (!isEngineError(error)) throw error;
              throw new ServerError("unprocessable", error.message, { cause: error });
            }
          }),
        ),
      appendEvents: async ({ body }: Operations["AppendEvents"]["input"]) =>
        this.#send(
          ofClaim(async ({ claims }, claim) =>
            appendBatch(claims, claim, body.batch, body.events as never),
          ),
        ),
      endClaim: async ({ body }: Operations["EndClaim"]["input"]) =>
        this.#send(
          ofClaim(async ({ claims }, claim) => {
            if (body === undefined) throw new ClientError("invalid_request", "no body");
            const { end, given_up: givenUp = "", late } = body;
            const how = { late, returned: sabotage.countsEnds === true ? false : body.returned };
            const ended = end === undefined ? { givenUp } : { end: end as never };
            await endClaim(claims, claim, { ...how, ...ended });
          }),
        ),
    };
    return calls as unknown as ServerClient;
  }

  async #send<T>(
    serve: Serve<T>,
    { signal, timeoutMs = 30_000, isLook = false }: CallOptions = {},
  ): Promise<{ readonly data: T }> {
    const { process } = this.#parts;
    const { scheduler, clock } = process;
    await process.awake();
    const fault = isLook ? undefined : process.nextFault();
    if (fault?.kind === "crash-before") {
      process.die(fault);
      return never();
    }
    if (fault?.kind === "pause") process.pause(fault.ms);
    await process.awake();
    const server = this.#server();
    const isCut = process.awayUntil > scheduler.monotonicMs();
    if (server === undefined || isCut || fault?.kind === "refused" || fault?.kind === "lost-none") {
      await sleep(clock, 200, signal);
      throw this.#unreachable();
    }
    if (fault?.kind === "lost-late") {
      // Something in between keeps the request, and its connection to the server.
      scheduler.after(fault.ms, () => {
        this.#arrive(server, serve, new AbortController().signal).catch(() => undefined);
      });
      throw this.#unreachable();
    }
    const gone = new AbortController();
    const over = new AbortController();
    try {
      const data = await Promise.race([
        this.#arrive(server, serve, gone.signal),
        server.process.died.then(() => Promise.reject(this.#unreachable())),
        sleep(clock, timeoutMs, over.signal).then(() =>
          Promise.reject(new ClientError("CLIENT_TIMEOUT", "no answer")),
        ),
        ...(signal === undefined ? [] : [aborted(signal)]),
      ]);
      if (fault?.kind === "crash-after") {
        process.die(fault);
        return await never();
      }
      if (fault?.kind === "lost-done") throw this.#unreachable();
      if (fault?.kind === "pause-after") process.pause(fault.ms);
      return { data };
    } finally {
      gone.abort();
      over.abort();
      await process.awake();
    }
  }

  /** A request at a server, until its answer leaves. */
  async #arrive<T>(server: SimServer, serve: Serve<T>, gone: AbortSignal): Promise<T> {
    const { chance, delayMs, scheduler } = this.#parts.process;
    if (delayMs > 0) await sleep(scheduler, chance.below(delayMs + 1));
    await server.process.awake();
    try {
      const data = await serve(server, gone);
      await server.process.awake();
      return data;
    } catch (error) {
      await server.process.awake();
      throw this.#problemOf(error);
    }
  }

  #problemOf(error: unknown): unknown {
    if (error instanceof ClientError) return error;
    if (isServerError(error)) return new ClientError(error.code, error.message);
    if (isStorageError(error, "STORAGE_INCONSISTENT")) {
      return new ClientError("store_unavailable", error.message, { retryable: true });
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.onFailure(text);
    return new ClientError("internal", text);
  }

  #server(): SimServer | undefined {
    const alive = this.#parts.servers().filter(({ process, stopping }) => {
      return !process.isDead && !stopping.aborted;
    });
    return alive[this.#turn % Math.max(1, alive.length)];
  }

  /** The next request goes to another server. */
  #unreachable(): ClientError {
    this.#turn += 1;
    return new ClientError("CLIENT_UNREACHABLE", "the server cannot be reached");
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
