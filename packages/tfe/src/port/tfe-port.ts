import type { FastifyRequest } from "fastify";
import type { TfeCaller } from "./caller.ts";
import type { RunPort } from "./run-port.ts";
import type { StatePort } from "./state-port.ts";
import type { VariablePort } from "./variable-port.ts";
import type { VariableSetPort } from "./variable-set-port.ts";
import type { WorkspacePort } from "./workspace-port.ts";

/** How a failure of the server is shown. */
export interface TfeFailure {
  readonly status: number;
  readonly detail: string;
  /** When a repetition makes sense, for 429. */
  readonly retryAfterMs?: number | undefined;
}

/** A request to change something that was refused. */
export interface TfeRefusal {
  /** Method and path of the route, such as `POST /workspaces/:workspace/vars`. */
  readonly route: string;
  /** The path of the request below that of the API; signed addresses are not in it. */
  readonly target: string;
  readonly status: number;
  /** Who the signed address of the request was made for; undefined for requests with a token. */
  readonly signer: Pick<TfeCaller, "account" | "actor"> | undefined;
}

/** The server behind this API. Its errors are described by {@link failureOf}. */
export interface TfePort {
  /**
   * Who sent a request: before any part of its body is read, and again when all of it is there. With `isCurrent`, for changes of administrators that
   * are recognized already, nothing counts that was read of the rights before.
   */
  authenticate(
    request: FastifyRequest,
    options?: { readonly isCurrent?: boolean },
  ): Promise<TfeCaller>;
  /** Who a credential is now, for an address that was made for it; rejects where it is not valid any more. */
  callerOf(credential: string): Promise<TfeCaller>;
  /** Counts a request of a caller, or on its behalf; throws where it makes too many. */
  admit(caller: Pick<TfeCaller, "account" | "actor">): void;
  /** As {@link admit}, for a request that waits where there are too many: one of those by which a command reads a log, and does not repeat. */
  admitInTurn(caller: Pick<TfeCaller, "account" | "actor">): Promise<void>;
  failureOf(error: unknown): TfeFailure;
  /** Notes a refusal, before it is answered; never rejects. @default none are noted */
  noteRefusal?(request: FastifyRequest, refusal: TfeRefusal): Promise<void>;
  /** Authenticates addresses: 32 bytes, the same in all servers of a store. */
  addressKey(): Promise<Uint8Array>;
  /** Milliseconds since 1970. */
  wallMs(): number;
  readonly workspaces: WorkspacePort;
  readonly states: StatePort;
  /** Undefined where runs are executed by commands alone. */
  readonly runs?: RunPort | undefined;
  /** Undefined where workspaces have no variables. */
  readonly variables?: VariablePort | undefined;
  /** Undefined where there are no sets; needs variables. */
  readonly variableSets?: VariableSetPort | undefined;
}
