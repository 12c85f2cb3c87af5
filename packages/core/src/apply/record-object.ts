import type { StepStatus } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { Step } from "./order.ts";

/** Records a difference that needs no call: a refresh, a move, an upgrade, other dependencies. */
export async function recordObject(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
): Promise<StepStatus> {
  const { writer } = run.given;
  const { address, deposed, after, words, provider, createBeforeDestroy } = change;
  const object = writer.object(address, deposed);
  if (!change.record || object === undefined || after === undefined) return "done";
  const content = run.content(change, ready, {
    value: after,
    privateBytes: words.priorPrivate,
    identity: words.priorIdentity,
  });
  await writer.write({
    kind: "record",
    key: { address, deposed },
    patch: {
      content,
      provider,
      type: change.type,
      createBeforeDestroy,
      dependencies: run.dependencies(change),
      observed: true,
    },
  });
  return "done";
}

/**
 * Takes an imported object into the state, as it was found when the plan was made. One that is removed at once depends on
 * nothing: what its configuration names is perhaps not made yet.
 */
export async function recordImportedObject(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  step: Step["kind"],
): Promise<void> {
  const { writer } = run.given;
  const { address, before, words } = change;
  if (before === undefined || writer.object(address)?.value !== undefined) return;
  await writer.write({
    kind: "adopt",
    key: { address, deposed: "" },
    object: { ...run.objectPlan(change), ...(step === "remove" && { dependencies: [] }) },
    content: run.content(change, ready, {
      value: before,
      privateBytes: words.priorPrivate,
      identity: words.priorIdentity,
    }),
  });
}
