import { Counter, type Registry } from "prom-client";

/** What became of packages of mirrored providers. */
type UpstreamEvent = "cached" | "fetched" | "evicted";

/** The numbers of the mirror of upstream providers. */
export class UpstreamMetrics {
  readonly #packages: Counter<"event">;
  readonly #bytes: Counter<"event">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#packages = new Counter({
      name: "stackwright_upstream_packages_total",
      help: "Packages of mirrored providers: requested ones that were in the cache, those fetched from a registry, and those evicted.",
      labelNames: ["event"],
      registers,
    });
    this.#bytes = new Counter({
      name: "stackwright_upstream_bytes_total",
      help: "Bytes of these packages.",
      labelNames: ["event"],
      registers,
    });
  }

  count(event: UpstreamEvent, packages: number, bytes: number): void {
    this.#packages.inc({ event }, packages);
    this.#bytes.inc({ event }, bytes);
  }
}
