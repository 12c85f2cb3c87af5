import { createProvider } from "@stackwright/mux/kit";
import type { PoolMember } from "../../pool/pool-options.ts";

/** A provider for tests of the pool that is no process. */
export class FakeProcess implements PoolMember {
  readonly #end = Promise.withResolvers<void>();
  readonly provider = createProvider({ config: {}, configure: () => undefined });
  readonly exited = this.#end.promise;
  isWell = true;
  isClosed = false;
  hasCrashed = false;

  async checkHealth(): Promise<void> {
    if (!this.isWell) throw new Error("not well");
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#end.resolve();
  }

  crash(): void {
    this.hasCrashed = true;
    this.isWell = false;
    this.#end.resolve();
  }
}
