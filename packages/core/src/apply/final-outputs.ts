import { encodeJson, encodeTypeJson } from "@stackwright/cty";
import type { StackOutput } from "../state/stack-state.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { StepRunner } from "./step-runner.ts";

/**
 * The outputs of the stack after a run. One whose value depends on something that was not done stays as it was.
 */
export async function finalOutputs(
  run: ApplyRun,
  runner: StepRunner,
): Promise<ReadonlyMap<string, StackOutput>> {
  const { plan, writer, world } = run.given;
  const outputs = new Map(writer.outputs);
  const complete = runner.isComplete;
  for (const { name, action, after, sensitive } of plan.outputs) {
    if (action === "no-op") continue;
    if (action === "delete") {
      // An output that is no longer declared is removed regardless of other failures; a destroy may be repeated.
      if (complete || plan.mode === "normal") outputs.delete(name);
      continue;
    }
    let value = after;
    if (value === undefined || !withoutMarks(value).isWhollyKnown) {
      const { result, targets } = await evaluateOutput(world, name);
      if (result === undefined || ![...targets].every((target) => runner.isMade(target))) continue;
      value = result;
    }
    const plain = withoutMarks(value);
    if (!plain.isWhollyKnown) continue;
    if (plain.isNull) outputs.delete(name);
    else {
      outputs.set(name, {
        type: encodeTypeJson(plain.type),
        json: encodeJson(plain, plain.type),
        sensitive,
      });
    }
  }
  return outputs;
}

/** An output that needs an object that was not created cannot be evaluated; that is not an error here. */
async function evaluateOutput(world: ApplyRun["given"]["world"], name: string) {
  try {
    await world.settled(() => world.root.output(name));
    const { result, targets, blocked } = world.recorder.record(() => world.root.output(name).value);
    return { result: blocked.size > 0 ? undefined : result, targets };
  } catch {
    return { result: undefined, targets: new Set<never>() };
  }
}
