import { StorageError } from "../../errors.ts";
import type { Grant } from "./grant.ts";

/** How many calls may be open at a time, watches and other streams among them. */
export interface CallBounds {
  readonly all: number;
  /** Of the tokens of one account together. */
  readonly perAccount: number;
  readonly perToken: number;
}

/** Who makes a call. */
interface Caller {
  readonly token: string | undefined;
  readonly grant: Grant;
}

interface Counted {
  readonly key: string;
  readonly limit: number;
  /** Whose calls they are, in an error. */
  readonly whose: string;
}

/**
 * Counts the calls that are open, and refuses those beyond a bound: what one caller opens is memory of all. A call
 * that is refused has done nothing, and may be made again when another one has ended.
 */
export class OpenCalls {
  readonly #bounds: CallBounds;
  readonly #open = new Map<string, number>();

  constructor(bounds: CallBounds) {
    this.#bounds = bounds;
  }

  /** Whether a call may begin; `STORAGE_INCONSISTENT`, not applied, where there are as many as there may be. */
  check(caller: Caller): void {
    for (const { key, limit, whose } of this.#counted(caller)) {
      if ((this.#open.get(key) ?? 0) < limit) continue;
      throw new StorageError(
        "STORAGE_INCONSISTENT",
        `${whose} has ${limit} calls open, the most at a time; try again when one of them has ended`,
        { details: { field: "calls", limit, outcome: "not-applied" } },
      );
    }
  }

  /** Counts a call until it is disposed of; fails as {@link check}. */
  enter(caller: Caller): Disposable {
    this.check(caller);
    const keys = this.#counted(caller).map(({ key }) => key);
    for (const key of keys) this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        for (const key of keys.splice(0)) {
          const left = (this.#open.get(key) ?? 0) - 1;
          if (left > 0) this.#open.set(key, left);
          else this.#open.delete(key);
        }
      },
    };
  }

  #counted({ token, grant }: Caller): readonly Counted[] {
    const { all, perAccount, perToken } = this.#bounds;
    const account = accountOf(grant);
    return [
      { key: "", limit: all, whose: "the service" },
      { key: `token\0${token ?? ""}`, limit: perToken, whose: "the token" },
      ...(account === undefined
        ? []
        : [{ key: `account\0${account}`, limit: perAccount, whose: `the account "${account}"` }]),
    ];
  }
}

/** The account that all scopes of a grant are in; undefined where there is no such one. */
function accountOf({ scopes }: Grant): string | undefined {
  if (scopes === "all") return undefined;
  const [account, ...others] = new Set(scopes.map(({ tenancy }) => tenancy.partition));
  return others.length > 0 || account === "*" ? undefined : account;
}
