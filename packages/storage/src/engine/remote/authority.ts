import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Admit, CallHead, HandlerContext } from "@stackwright/proto/grpc";
import { isStorageError, StorageError } from "../../errors.ts";
import type { Grant } from "./grant.ts";
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
  /** @default the process's */
  readonly clock?: Clock | undefined;
}

/** A stream's grant while it lasts; to be disposed when the stream ends. */
export interface HeldGrant extends Disposable {
  readonly grant: Grant;
  /** Aborts with the call, and with a {@link StorageError} when the grant ends. */
  readonly signal: AbortSignal;
}

/** How long open streams may continue while the validity of their tokens is unknown. */
const BLIND_MS = 30_000;

interface OpenToken {
  readonly token: string | undefined;
  readonly grant: Grant;
  readonly streams: Set<AbortController>;
  confirmedMs: number;
}

/** Finds out what callers may do, before their requests are read and for as long as they are connected. */
export class Authority {
  readonly #authorize: Authorize;
  readonly #recheckMs: number;
  readonly #clock: Clock;
  /** By the metadata of the call, which is the same object from its head to its handler. */
  readonly #grants = new WeakMap<object, Promise<Grant>>();
  readonly #open = new Map<string, OpenToken>();
  #isChecking = false;

  constructor({ authorize, recheckMs = 500, clock = systemClock }: AuthorityOptions) {
    this.#authorize = authorize;
    this.#recheckMs = recheckMs;
    this.#clock = clock;
  }

  /** For the service's binding: refuses calls by their heads. */
  readonly admit: Admit = async (head) => {
    try {
      await this.grantOf(head);
    } catch (error) {
      throw storageToRpcError(error);
    }
  };

  /** What the caller may do. Rejects with `STORAGE_PERMISSION_DENIED` for tokens that are refused. */
  grantOf({ metadata }: CallHead): Promise<Grant> {
    let grant = this.#grants.get(metadata);
    if (grant === undefined) {
      grant = this.#ask(tokenOf(metadata));
      this.#grants.set(metadata, grant);
    }
    return grant;
  }

  /** The grant of a stream, which ends with the token. */
  async hold(context: HandlerContext): Promise<HeldGrant> {
    const grant = await this.grantOf(context);
    const token = tokenOf(context.metadata);
    const key = `${token ?? ""}\0${JSON.stringify(grant)}`;
    const open: OpenToken = this.#open.get(key) ?? {
      token,
      grant,
      streams: new Set(),
      confirmedMs: this.#clock.monotonicMs(),
    };
    const ending = new AbortController();
    open.streams.add(ending);
    this.#open.set(key, open);
    this.#checkSoon();
    return {
      grant,
      signal: AbortSignal.any([context.signal, ending.signal]),
      [Symbol.dispose]: () => {
        open.streams.delete(ending);
        if (open.streams.size === 0) this.#open.delete(key);
      },
    };
  }

  async #ask(token: string | undefined): Promise<Grant> {
    const grant = await this.#authorize(token);
    if (grant !== undefined) return grant;
    const why = token === undefined ? "no token was given" : "the token is not known";
    throw new StorageError("STORAGE_PERMISSION_DENIED", why);
  }

  #checkSoon(): void {
    if (this.#isChecking || this.#open.size === 0) return;
    this.#isChecking = true;
    // Never rejects.
    this.#clock.after(this.#recheckMs, () => void this.#checkAll());
  }

  async #checkAll(): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), async (open) => this.#check(open)));
    this.#isChecking = false;
    this.#checkSoon();
  }

  async #check(open: OpenToken): Promise<void> {
    const asked = this.#clock.monotonicMs();
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
    }
  }
}

function tokenOf(metadata: CallHead["metadata"]): string | undefined {
  const [header] = metadata.get("authorization");
  return typeof header === "string" && header.startsWith("Bearer ") ? header.slice(7) : undefined;
}
