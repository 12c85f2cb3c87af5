import type { Resource, ResourceId } from "@stackwright/storage";
import type { SimProcess } from "./sim-process.ts";
import type { SimBatch } from "./sim-store.ts";

/** A bug that is planted into a simulation, to show that it would be found. */
export interface RunSabotage {
  /** Changes what is written, or what it is written under. */
  readonly alter?: (batch: SimBatch, process: SimProcess) => SimBatch;
  /** Changes what is read. */
  readonly alterRead?: (resource: Resource, isRequest: boolean) => Resource;
  /** Does not see something that is stored. */
  readonly hidden?: (id: ResourceId, isRequest: boolean) => boolean;
  /** Executors go on where the run layer refuses to let them begin. */
  readonly ignoresRefusal?: boolean;
  /** A recovery makes again what was made. */
  readonly repeats?: boolean;
  /** Approvals are for whatever plan the run has when they arrive. */
  readonly approvesAny?: boolean;
  /** Whatever policies say of a plan, it passes. */
  readonly passesAll?: boolean;
  /** Servers take each request of a remote worker for one that came before all that it was given. */
  readonly keepsLost?: boolean;
  /** What a remote worker gives back at its end counts as lost. */
  readonly countsEnds?: boolean;
  /** Executors say that all was done that they began. */
  readonly overstates?: boolean;
}
