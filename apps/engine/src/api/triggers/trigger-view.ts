import type { RunTrigger } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { modeNameOf } from "../../domain/run-modes.ts";
import { ProjectName, StackNameSchema } from "../api-parts.ts";
import { RepeatedRunModes, RunModes, timeOf } from "../runs/run-view.ts";

const Message = Type.String({ maxLength: 1024 });

const OutputNames = Type.Array(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,127}$" }), {
  minItems: 1,
  maxItems: 50,
  uniqueItems: true,
  description: "outputs whose changes count; those of all without it",
});

/** Body of a request that creates a trigger. */
export const NewTrigger = Type.Object(
  {
    producer: Type.Object(
      { project: Type.Optional(ProjectName), stack: StackNameSchema },
      {
        additionalProperties: false,
        description: "the stack whose outputs are followed; without a project of the same one",
      },
    ),
    outputs: Type.Optional(OutputNames),
    mode: RepeatedRunModes,
    auto_apply: Type.Optional(Type.Boolean()),
    message: Type.Optional(Message),
  },
  { additionalProperties: false, title: "NewTrigger" },
);

/** Body of a request that changes a trigger. */
export const TriggerChange = Type.Object(
  { message: Type.Optional(Message), paused: Type.Optional(Type.Boolean()) },
  { additionalProperties: false, title: "TriggerChange" },
);

export const TriggerView = Type.Object(
  {
    id: Type.String(),
    producer: Type.Object({ project: Type.String(), stack: Type.String() }),
    outputs: Type.Optional(Type.Array(Type.String())),
    mode: RunModes,
    auto_apply: Type.Optional(Type.Boolean()),
    message: Type.String(),
    paused: Type.Boolean(),
    revision: Type.Integer({ description: "of the outputs that were taken note of last" }),
    last_at: Type.Optional(Type.String()),
    last_run: Type.Optional(Type.String()),
    last_problem: Type.Optional(Type.String()),
    actor: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "Trigger" },
);

/** A trigger as the API shows it. */
export function triggerViewOf(trigger: RunTrigger): Static<typeof TriggerView> {
  const { id, message, paused, autoApply, lastAtMs, actor } = trigger;
  return {
    id,
    producer: { project: trigger.producerProject, stack: trigger.producerName },
    ...(trigger.outputs.length > 0 && { outputs: [...trigger.outputs] }),
    mode: modeNameOf(trigger.mode) ?? "plan_only",
    ...(autoApply !== undefined && { auto_apply: autoApply }),
    message,
    paused,
    revision: Number(trigger.revision),
    ...(lastAtMs !== 0n && { last_at: timeOf(lastAtMs) }),
    ...(trigger.lastRun !== "" && { last_run: trigger.lastRun }),
    ...(trigger.lastProblem !== "" && { last_problem: trigger.lastProblem }),
    actor,
    created_at: timeOf(trigger.createdAtMs),
    updated_at: timeOf(trigger.updatedAtMs),
  };
}
