import { type CapabilityMask, createCapabilityMask } from "./capability-mask.ts";
import type { Capabilities } from "./core/combine-configure.ts";
import type { ServerHandle } from "./server-handle.ts";

/** What the answer to a caller allowed it to send: parts of values that some servers may not take. */
export type AcceptedFeatures = Pick<
  Capabilities,
  "acceptSecrets" | "acceptResources" | "acceptOutputs"
>;

/**
 * What the mux said of itself, against what each server said. A server that takes less than was announced, because
 * that was said for all, or because it came later, gets its requests and replies rewritten.
 */
export class CapabilityNegotiation {
  readonly #ofMissing: AcceptedFeatures;
  readonly #said = new WeakMap<ServerHandle, AcceptedFeatures>();
  #masks = new WeakMap<ServerHandle, { readonly mask: CapabilityMask | undefined }>();
  #announced: AcceptedFeatures | undefined;

  /** `ofMissing` is what a server takes that never says. */
  constructor(ofMissing: AcceptedFeatures) {
    this.#ofMissing = ofMissing;
  }

  /** A server says what it takes, in its answer to Handshake or Configure. */
  say(server: ServerHandle, acceptance: AcceptedFeatures): void {
    this.#said.set(server, acceptance);
    this.#masks.delete(server);
  }

  /** The mux announces to its caller. */
  announce(acceptance: AcceptedFeatures): void {
    this.#announced = acceptance;
    this.#masks = new WeakMap();
  }

  /** The mask for a server, if it needs one. */
  maskOf(server: ServerHandle): CapabilityMask | undefined {
    const announced = this.#announced;
    if (announced === undefined) return undefined;
    const known = this.#masks.get(server);
    if (known !== undefined) return known.mask;
    const said = this.#said.get(server) ?? this.#ofMissing;
    const mask = createCapabilityMask({
      acceptSecrets: said.acceptSecrets || !announced.acceptSecrets,
      acceptResources: said.acceptResources || !announced.acceptResources,
      acceptOutputs: said.acceptOutputs || !announced.acceptOutputs,
    });
    this.#masks.set(server, { mask });
    return mask;
  }
}
