import type { AdapterInfo, Feature } from "../envelope/extensions.ts";
import { CallLimiter } from "./call-limiter.ts";
import type { ResolvedCallerOptions } from "./caller-options.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { RetryBudget } from "./retry-budget.ts";

/** The schema that a function gave, with the digest under which it announced it. */
interface KnownSchema {
  readonly digest: string;
  readonly bytes: Uint8Array;
}

/** What all transports to one function share. */
export class FunctionState {
  readonly breaker: CircuitBreaker;
  readonly limiter: CallLimiter;
  readonly retry: RetryBudget;
  /** `null`: it answered without introducing itself. `undefined`: it has not answered yet. */
  adapter: AdapterInfo | null | undefined;
  schema: KnownSchema | undefined;

  constructor(options: ResolvedCallerOptions) {
    this.breaker = new CircuitBreaker(options.clock, options.breaker);
    this.limiter = new CallLimiter(options.limits);
    this.retry = new RetryBudget(options.retry, options.random);
  }

  announced(feature: Feature): boolean {
    return this.adapter?.features.includes(feature) ?? false;
  }
}

/** Functions of which something is remembered at a time. */
const MAX_FUNCTIONS = 1000;

/** States by the key of the target; those not used for longest are forgotten when idle. */
export class FunctionStates {
  readonly #options: ResolvedCallerOptions;
  readonly #states = new Map<string, FunctionState>();

  constructor(options: ResolvedCallerOptions) {
    this.#options = options;
  }

  get(key: string): FunctionState {
    const state = this.#states.get(key) ?? new FunctionState(this.#options);
    this.#states.delete(key);
    this.#states.set(key, state);
    if (this.#states.size > MAX_FUNCTIONS) {
      for (const [other, { limiter }] of this.#states) {
        if (limiter.running === 0 && other !== key) {
          this.#states.delete(other);
          break;
        }
      }
    }
    return state;
  }
}
