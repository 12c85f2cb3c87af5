import type { StackReference } from "@stackwright/core";
import type { DriftLoad } from "@stackwright/proto/stackwright";

// Invariants:
// - What is left of a budget follows from the records of drift alone: each names its last check, when that was requested, and what it reads. So all servers
//   of a store have one budget, which no restart fills, and there is no counter that a crash could leave wrong.
// - What costs more than a full bucket takes a full one, and leaves a debt: large stacks are checked, too.
// - Who is refused first is served first: nothing that is asked for later takes what it waits for.

/** Tokens per second, and what a full bucket has. */
interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Checks of one project. */
export const PROJECT_CHECKS: Limit = { perSecond: 0.5, burst: 30 };
/** Objects of one provider that are read for an account. */
export const PROVIDER_OBJECTS: Limit = { perSecond: 50, burst: 2_000 };
/** For how long a check counts: longer than the debt of the largest stacks. */
const REMEMBERED_MS = 60 * 60_000;
/** Providers that are a part of the engine, and read nothing elsewhere. */
const BUILT_IN = "terraform.io/builtin/";

/** A check that was requested, and what it reads. */
export interface ChargedCheck {
  readonly stack: StackReference;
  readonly atMs: number;
  readonly loads: readonly DriftLoad[];
}

interface Bucket {
  tokens: number;
  atMs: number;
  /** One that was asked for earlier waits for it. */
  isAwaited: boolean;
}

interface Cost {
  readonly key: string;
  readonly tokens: number;
  readonly limit: Limit;
}

/** What may be checked now: a bucket of checks for each project, and one of objects for each provider of an account. */
export class DriftBudget {
  readonly #nowMs: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param checks those that were requested, in any order */
  constructor(nowMs: number, checks: readonly ChargedCheck[]) {
    this.#nowMs = nowMs;
    const lately = checks.filter(({ atMs }) => atMs > nowMs - REMEMBERED_MS);
    for (const check of lately.toSorted((a, b) => a.atMs - b.atMs)) {
      // The clock of another server may be ahead.
      this.#charge(costsOf(check), Math.min(check.atMs, nowMs));
    }
  }

  /** Whether a stack may be checked as far as its project is concerned; takes nothing. */
  hasCheckFor({ account, project }: StackReference): boolean {
    const { isAwaited, tokens } = this.#bucket(
      projectKey({ account, project }),
      PROJECT_CHECKS,
      this.#nowMs,
    );
    return !isAwaited && tokens >= 1;
  }

  /** Takes what a check costs; false where there is not enough of it, which is then kept for this check. */
  take(check: Pick<ChargedCheck, "stack" | "loads">): boolean {
    const costs = costsOf(check);
    const asked = costs.map(({ key, tokens, limit }) => {
      const bucket = this.#bucket(key, limit, this.#nowMs);
      const needed = Math.min(tokens, limit.burst);
      return { bucket, needed, isMissing: bucket.isAwaited || bucket.tokens < needed };
    });
    const missing = asked.filter(({ isMissing }) => isMissing);
    if (missing.length === 0) {
      this.#charge(costs, this.#nowMs);
      return true;
    }
    // Those behind it would else take what it has enough of while it waits for the rest, and then the rest.
    if (missing.some(({ bucket }) => !bucket.isAwaited)) {
      for (const { bucket, needed, isMissing } of asked) if (!isMissing) bucket.tokens -= needed;
    }
    for (const { bucket } of missing) bucket.isAwaited = true;
    return false;
  }

  /** Gives back what a check took that was not requested after all. */
  giveBack(check: Pick<ChargedCheck, "stack" | "loads">): void {
    for (const { key, tokens, limit } of costsOf(check)) {
      this.#bucket(key, limit, this.#nowMs).tokens += tokens;
    }
  }

  #charge(costs: readonly Cost[], atMs: number): void {
    for (const { key, tokens, limit } of costs) this.#bucket(key, limit, atMs).tokens -= tokens;
  }

  /** A bucket as it is at a moment, which is never before the one that it was asked for last. */
  #bucket(key: string, { perSecond, burst }: Limit, atMs: number): Bucket {
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst, atMs, isAwaited: false };
      this.#buckets.set(key, bucket);
    }
    const filled = bucket.tokens + ((atMs - bucket.atMs) / 1_000) * perSecond;
    bucket.tokens = Math.min(burst, filled);
    bucket.atMs = atMs;
    return bucket;
  }
}

function costsOf({ stack, loads }: Pick<ChargedCheck, "stack" | "loads">): readonly Cost[] {
  const { account, project } = stack;
  return [
    { key: projectKey({ account, project }), tokens: 1, limit: PROJECT_CHECKS },
    ...loads
      .filter(({ provider }) => !provider.startsWith(BUILT_IN))
      .map(({ provider, objects }) => ({
        key: `provider ${account} ${provider}`,
        tokens: objects,
        limit: PROVIDER_OBJECTS,
      })),
  ];
}

function projectKey({ account, project }: Pick<StackReference, "account" | "project">): string {
  return `project ${account}/${project}`;
}
