import { byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import type { Tenancy } from "@stackwright/storage";
import { followedRevision } from "../domain/followed-revision.ts";
import type { OutputsFact, TriggerFact } from "./stack-facts.ts";

/** A trigger whose producer has other outputs than it took note of last. */
export interface DueTrigger {
  readonly key: string;
  readonly tenancy: Tenancy;
  readonly name: string;
  /** Of the outputs of the producer. */
  readonly revision: bigint;
}

/** The triggers that have to request a run, or take note that one waits. */
export function deriveDueTriggers(
  rt: Runtime,
  {
    triggers,
    outputs,
  }: { readonly triggers: Collection<TriggerFact>; readonly outputs: Collection<OutputsFact> },
): Collection<DueTrigger> {
  return rt.derive(
    triggers,
    (ctx, trigger): DueTrigger | undefined => {
      const { key, tenancy, name, producer, paused } = trigger;
      const published = ctx.fetchOne(outputs, byKey(producer));
      const revision = published && followedRevision(published, trigger);
      if (paused || revision === undefined || revision <= trigger.revision) return undefined;
      return { key, tenancy, name, revision };
    },
    { name: "due triggers", kind: kind<DueTrigger>()({ key: ({ key }) => key }) },
  );
}
