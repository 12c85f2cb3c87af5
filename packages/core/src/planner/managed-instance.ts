import type { BoundBody, ResourceConfig } from "@stackwright/lang";
import type { ResourceSchema } from "@stackwright/mux/router";
import type { ResourceChange } from "../plan/change.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { PlanRun } from "./plan-run.ts";
import type { RefreshedObject } from "./read-object.ts";

/** One instance of a managed resource, with everything that planning it needs. */
export interface ManagedInstance {
  readonly run: PlanRun;
  readonly slot: InstanceSlot;
  readonly config: ResourceConfig;
  readonly body: BoundBody;
  readonly schema: ResourceSchema;
  readonly ready: ReadyProvider;
  /** The recorded object; undefined: there is none. */
  readonly seen: RefreshedObject | undefined;
  readonly importing: ResourceChange["importing"];
  /** What the instances themselves depend on: count, for_each, and what the module waits for. */
  readonly around: ReadonlySet<Target>;
  readonly explicit: ReadonlySet<Target>;
}
