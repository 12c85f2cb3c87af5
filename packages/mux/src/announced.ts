import { type CapabilityMask, createCapabilityMask } from "./capability-mask.ts";
import type { Capabilities } from "./core/combine-configure.ts";
import type { ServerHandle } from "./server-handle.ts";

/** What a caller was told that it may send: parts of values that some servers may not take. */
export type Acceptance = Pick<Capabilities, "acceptSecrets" | "acceptResources" | "acceptOutputs">;

/**
 * What the mux said of itself, against what each server said. A server that takes less than was announced, because
 * that was said for all, or because it came later, gets its requests and replies rewritten.
 */
export class Announced {
  readonly #ofMissing: Acceptance;
  readonly #said = new WeakMap<ServerHandle, Acceptance>();
  #masks = new WeakMap<ServerHandle, { readonly mask: CapabilityMask | undefined }>();
  #announced: Acceptance | undefined;

  /** `ofMissing` is what a server takes that never says. */
  constructor(ofMissing: Acceptance) {
    this.#ofMissing = ofMissing;
  }

  /** A server says what it takes, in its answer to Handshake or Configure. */
  say(server: ServerHandle, acceptance: Acceptance): void {
    this.#said.set(server, acceptance);
    this.#masks.delete(server);
  }

  /** The mux announces to its caller. */
  announce(acceptance: Acceptance): void {
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
