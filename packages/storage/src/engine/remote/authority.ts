import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Admit, CallHead, HandlerContext } from "@stackwright/proto/grpc";
import { isStorageError, StorageError } from "../../errors.ts";
import type { Grant } from "./grant.ts";
import { type CallBounds, OpenCalls } from "./open-calls.ts";
import { storageToRpcError } from "./wire-error.ts";

/**
 * Returns what a token allows; `undefined` refuses it. The token is what follows `Bearer ` in the
 * metadata `authorization`, or `undefined` when there is none. It may reject with
 * `STORAGE_PERMISSION_DENIED` where it can say more of a refusal.
 *
 * It is asked once per call, from the headers alone, and while a stream is open again and again: a
 * stream ends when its token is refused or allows something else.
 */
export type Authorize = (
  token: string | undefined,
) => Grant | undefined | Promise<Grant | undefined>;

/** What services that ask for tokens have in common. */
export interface AuthorityOptions {
  /** Returns what a token allows. */
  readonly authorize: Authorize;
  /** How often the tokens of open streams are asked about again. @default 500 */
  readonly recheckMs?: number | undefined;
  /**
   * How many calls the service has open at a time, watches and other streams among them. One beyond that is refused by its headers with
   * `STORAGE_INCONSISTENT` and the outcome `not-applied`: it may be made again. Calls of tokens whose scopes are all in one
   * account count as the account's as well.
   *
   * @default 16,384 in all, 8,192 of an account, 4,096 of a token
   */
  readonly maxCalls?: Partial<CallBounds> | undefined;
  /** @default the process's */
  readonly clock?: Clock | undefined;
}

/** A call's grant; to be disposed when the call ends. */
interface EnteredGrant extends Disposable {
  readonly grant: Grant;
}

/** A stream's grant while it lasts; to be disposed when the stream ends. */
export interface HeldGrant extends Disposable {
  readonly grant: Grant;
  /** Aborts with the call, and with a {@link StorageError} when the grant ends. */
  readonly signal: AbortSignal;
}

const MOST_CALLS: CallBounds = { all: 16_384, perAccount: 8_192, perToken: 4_096 };

/** How long open streams may continue while the validity of their tokens is unknown. */
const BLIND_MS = 30_000;

interface OpenToken {
  readonly token: string | undefined;
  readonly grant: Grant;
  readonly streams: Set<AbortController>;
  confirmedMs: number;
  /** Whether an answer about it is awaited. */
  isAsked: boolean;
}

/** Finds out what callers may do, before their requests are read and for as long as they are connected. */
export class Authority {
  readonly #authorize: Authorize;
  readonly #recheckMs: number;
  readonly #clock: Clock;
  readonly #calls: OpenCalls;
  /** By the metadata of the call, which is the same object from its head to its handler. */
  readonly #grants = new WeakMap<object, Promise<Grant>>();
  readonly #open = new Map<string, OpenToken>();
  #isScheduled = false;

  constructor(options: AuthorityOptions) {
    const { authorize, recheckMs = 500, clock = systemClock, maxCalls = {} } = options;
    this.#authorize = authorize;
    this.#recheckMs = recheckMs;
    this.#clock = clock;
    this.#calls = new OpenCalls({ ...MOST_CALLS, ...maxCalls });
  }

  /** For the service's binding: refuses calls by their heads. */
  readonly admit: Admit = async (head) => {
    try {
      const grant = await this.#grantOf(head);
      this.#calls.check({ token: tokenOf(head.metadata), grant });
    } catch (error) {
      throw storageToRpcError(error);
    }
  };

  /**
   * What the caller may do, for one answer. Rejects with `STORAGE_PERMISSION_DENIED` for tokens that are refused, and with
   * `STORAGE_INCONSISTENT` where too many calls are open.
   */
  async enter(context: HandlerContext): Promise<EnteredGrant> {
    const grant = await this.#grantOf(context);
    const entered = this.#calls.enter({ token: tokenOf(context.metadata), grant });
    return { grant, [Symbol.dispose]: () => entered[Symbol.dispose]() };
  }

  /** The grant of a stream, which ends with the token. Rejects as {@link enter}. */
  async hold(context: Pick<HandlerContext, "metadata" | "signal">): Promise<HeldGrant> {
    const grant = await this.#grantOf(context);
    const token = tokenOf(context.metadata);
    const entered = this.#calls.enter({ token, grant });
    const key = `${token ?? ""}\0${JSON.stringify(grant)}`;
    const open: OpenToken = this.#open.get(key) ?? {
      token,
      grant,
      streams: new Set(),
      confirmedMs: this.#clock.monotonicMs(),
      isAsked: false,
    };
    const ending = new AbortController();
    open.streams.add(ending);
    this.#open.set(key, open);
    this.#checkSoon();
    return {
      grant,
      signal: AbortSignal.any([context.signal, ending.signal]),
      [Symbol.dispose]: () => {
        entered[Symbol.dispose]();
        open.streams.delete(ending);
        if (open.streams.size === 0) this.#open.delete(key);
      },
    };
  }

  #grantOf({ metadata }: Pick<CallHead, "metadata">): Promise<Grant> {
    let grant = this.#grants.get(metadata);
    if (grant === undefined) {
      grant = this.#ask(tokenOf(metadata));
      this.#grants.set(metadata, grant);
    }
    return grant;
  }

  async #ask(token: string | undefined): Promise<Grant> {
    const grant = await this.#authorize(token);
    if (grant !== undefined) return grant;
    const why = token === undefined ? "no token was given" : "the token is not known";
    throw new StorageError("STORAGE_PERMISSION_DENIED", why, { details: { field: "token" } });
  }

  #checkSoon(): void {
    if (this.#isScheduled || this.#open.size === 0) return;
    this.#isScheduled = true;
    this.#clock.after(this.#recheckMs, () => {
      this.#isScheduled = false;
      this.#checkAll();
    });
  }

  /** Each by itself: an answer that does not come leaves no other token unchecked. */
  #checkAll(): void {
    for (const open of this.#open.values()) {
      // Never rejects.
      if (!open.isAsked) void this.#check(open);
      else if (this.#clock.monotonicMs() - open.confirmedMs >= BLIND_MS) {
        const late = new StorageError(
          "STORAGE_INCONSISTENT",
          "the check of the token does not end",
        );
        for (const stream of open.streams) stream.abort(late);
      }
    }
    this.#checkSoon();
  }

  async #check(open: OpenToken): Promise<void> {
    const asked = this.#clock.monotonicMs();
    open.isAsked = true;
    try {
      const grant = await this.#ask(open.token);
      if (JSON.stringify(grant) !== JSON.stringify(open.grant)) {
        throw new StorageError("STORAGE_WATCH_CLOSED", "the token allows something else now");
      }
      open.confirmedMs = asked;
    } catch (error) {
      const isOver = isStorageError(error, "STORAGE_PERMISSION_DENIED", "STORAGE_WATCH_CLOSED");
      if (!isOver && asked - open.confirmedMs < BLIND_MS) return;
      for (const stream of open.streams) stream.abort(error);
    } finally {
      open.isAsked = false;
    }
  }
}

function tokenOf(metadata: CallHead["metadata"]): string | undefined {
  const [header] = metadata.get("authorization");
  return typeof header === "string" && header.startsWith("Bearer ") ? header.slice(7) : undefined;
}
