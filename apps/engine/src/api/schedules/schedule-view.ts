import type { Schedule } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { modeNameOf } from "../../domain/run-modes.ts";
import { RepeatedRunModes, RunModes, timeOf } from "../runs/run-view.ts";

const Cron = Type.String({
  maxLength: 128,
  description: "minute, hour, day of month, month, day of week; at least 5 minutes apart",
});
const Zone = Type.String({ maxLength: 64, description: "IANA name of a time zone, such as UTC" });
const Message = Type.String({ maxLength: 1024 });

/** Body of a request that creates a schedule: `cron`, or `at` for a single time. */
export const NewSchedule = Type.Object(
  {
    cron: Type.Optional(Cron),
    zone: Type.Optional(Zone),
    at: Type.Optional(Type.String({ maxLength: 40, description: "a single time, in RFC 3339" })),
    mode: RepeatedRunModes,
    auto_apply: Type.Optional(Type.Boolean()),
    message: Type.Optional(Message),
  },
  { additionalProperties: false, title: "NewSchedule" },
);

/** Body of a request that changes a schedule. */
export const ScheduleChange = Type.Object(
  {
    cron: Type.Optional(Cron),
    zone: Type.Optional(Zone),
    message: Type.Optional(Message),
    paused: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, title: "ScheduleChange" },
);

export const ScheduleView = Type.Object(
  {
    id: Type.String(),
    cron: Type.Optional(Type.String()),
    zone: Type.String(),
    mode: RunModes,
    auto_apply: Type.Optional(Type.Boolean()),
    message: Type.String(),
    paused: Type.Boolean(),
    next_at: Type.Optional(Type.String()),
    last_at: Type.Optional(Type.String()),
    last_run: Type.Optional(Type.String()),
    last_problem: Type.Optional(Type.String()),
    actor: Type.String(),
    created_at: Type.String(),
    updated_at: Type.String(),
  },
  { title: "Schedule" },
);

/** A schedule as the API shows it. */
export function scheduleViewOf(schedule: Schedule): Static<typeof ScheduleView> {
  const { id, cron, zone, message, paused, autoApply, nextAtMs, lastAtMs, actor } = schedule;
  return {
    id,
    ...(cron !== "" && { cron }),
    zone,
    mode: modeNameOf(schedule.mode) ?? "plan_only",
    ...(autoApply !== undefined && { auto_apply: autoApply }),
    message,
    paused,
    ...(nextAtMs !== 0n && !paused && { next_at: timeOf(nextAtMs) }),
    ...(lastAtMs !== 0n && { last_at: timeOf(lastAtMs) }),
    ...(schedule.lastRun !== "" && { last_run: schedule.lastRun }),
    ...(schedule.lastProblem !== "" && { last_problem: schedule.lastProblem }),
    actor,
    created_at: timeOf(schedule.createdAtMs),
    updated_at: timeOf(schedule.updatedAtMs),
  };
}
