import type { PluginTransport } from "@stackwright/tfplugin";
import type { FunctionTarget } from "../target/target.ts";
import {
  type CallerOptions,
  type ResolvedCallerOptions,
  resolveCallerOptions,
} from "./caller-options.ts";
import type { BreakerState } from "./circuit-breaker.ts";
import { FunctionStates } from "./function-state.ts";
import { FunctionTransport } from "./function-transport.ts";

export interface TransportOptions {
  /** Where the function is called; stays open when the transport is closed. */
  readonly target: FunctionTarget;
  /** Of calls that do not bring their own. @default 128 random bits */
  readonly sessionId?: string;
  /** Gets what the function reports while it works, where it can. */
  readonly onProgress?: (text: string) => void;
}

/**
 * Calls providers behind functions. Makes one transport per provider configuration; transports to the
 * same function share its circuit breaker, limits, retry budget and schema.
 */
export class FunctionCaller {
  readonly #options: ResolvedCallerOptions;
  readonly #states: FunctionStates;

  constructor(options: CallerOptions = {}) {
    this.#options = resolveCallerOptions(options);
    this.#states = new FunctionStates(this.#options);
  }

  /**
   * A transport for one provider configuration, to be driven like a provider process: it remembers what it was
   * configured with and sends it along with later calls.
   */
  transport(options: TransportOptions): PluginTransport {
    const state = this.#states.get(options.target.key);
    return new FunctionTransport(options, state, this.#options);
  }

  /** Whether calls of this function are held back at present. */
  breakerState(target: FunctionTarget): BreakerState {
    return this.#states.get(target.key).breaker.state;
  }
}
