import type { Target } from "../walk/recorder.ts";
import type { ProviderInstance } from "./provider-instances.ts";

/** A provider configuration in this run, ready to be asked. */
export interface ReadyProvider {
  readonly use: ProviderInstance;
  /** False: its configuration is not known yet, so that it can be asked nothing about real objects. */
  readonly reachable: boolean;
  /** What its configuration read. */
  readonly targets: ReadonlySet<Target>;
}
