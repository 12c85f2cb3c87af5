import { Schedule } from "@stackwright/proto/stackwright";
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { MODE_OF } from "../../domain/run-modes.ts";
import { memberPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { guardedProject, requireAutoApply, requireContinues } from "../../queue/auto-apply-rule.ts";
import { readQueue } from "../../queue/stack-queue.ts";
import { transact } from "../../queue/transaction.ts";
import { checkTimes, nextTime } from "../../schedule/schedule-times.ts";
import { type ApiParts, etagOf, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { stackMemberRoutes } from "../stack-member-routes.ts";
import { NewSchedule, ScheduleChange, ScheduleView, scheduleViewOf } from "./schedule-view.ts";

const SCHEDULES = "/projects/:project/stacks/:stack/schedules";
const KIND = SERVER_KINDS.schedule;

/** Schedules of one stack. */
const MAX_SCHEDULES = 20;
/** How far ahead a single time may lie. */
const MAX_AHEAD_MS = 400 * 24 * 3_600_000;

type InStack = { Params: Static<typeof StackParams> };

/** `/projects/{project}/stacks/{stack}/schedules` */
export function scheduleRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, clock, principalOf } = parts;
  stackMemberRoutes(fastify, parts, {
    kind: KIND,
    noun: "schedule",
    name: "Schedule",
    view: ScheduleView,
    viewOf: scheduleViewOf,
    change: ScheduleChange,
    changes: "Change the times or the message of a schedule, pause it, or let it continue",
    changed,
    requireAllowed: async (tx, place, change) =>
      requireContinues(tx, place, change, "create another schedule"),
  });

  fastify.post<InStack & { Body: Static<typeof NewSchedule> }>(
    SCHEDULES,
    {
      schema: routeSchema(
        "Create a schedule: runs of the configuration that was applied last",
        "CreateSchedule",
        { 201: ScheduleView },
        { params: StackParams, body: NewSchedule },
        {
          422: "the stack has as many schedules as it may, or the project applies no plan without an approval",
        },
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const principal = principalOf(request);
      const { reference, name } = await stackOf(parts, principal, request.params);
      const { cron = "", zone = "UTC", at, mode, auto_apply: autoApply, message } = request.body;
      if ((cron === "") === (at === undefined)) {
        throw new ServerError("invalid_request", "a schedule needs either cron or at");
      }
      const nowMs = clock.wallMs();
      if (cron !== "") checkTimes({ cron, zone }, nowMs);
      const nextAtMs = at === undefined ? nextTime({ cron, zone }, nowMs) : singleTime(at, nowMs);
      const id = parts.token();
      const place = memberPlace(reference, id);
      const { made, generation } = await transact(parts.audited(request), async (tx) => {
        if (autoApply === true) {
          requireAutoApply(await guardedProject(tx, reference), "create the schedule");
        }
        // Every new schedule writes the queue, so that two at once do not both find room.
        tx.update(await readQueue(tx, reference), {});
        const { tenancy, name: prefix } = memberPlace(reference, "");
        const others = await storage.list("strong", KIND.type, tenancy, prefix);
        if (others.length >= MAX_SCHEDULES) {
          throw new ServerError("unprocessable", `a stack has at most ${MAX_SCHEDULES} schedules`);
        }
        const schedule = Schedule.create({
          id,
          stackName: name,
          cron,
          zone,
          mode: MODE_OF[mode],
          ...(autoApply !== undefined && { autoApply }),
          message: message ?? "",
          nextAtMs: BigInt(nextAtMs ?? 0),
          actor: principal.actor,
          createdAtMs: BigInt(tx.nowMs),
          updatedAtMs: BigInt(tx.nowMs),
        });
        tx.create(KIND, place, schedule);
        return { made: schedule, generation: tx.generation };
      });
      const { project } = request.params;
      const location = `/api/v1/projects/${project}/stacks/${name}/schedules/${id}`;
      reply.headers({ location, etag: etagOf(generation) });
      return reply.code(201).send(scheduleViewOf(made));
    },
  );
}

/** What a request changes. The times of a pause are not made up for; a single time that passed in it is over. */
function changed(
  schedule: Schedule,
  { cron = schedule.cron, zone = schedule.zone, message, paused }: Static<typeof ScheduleChange>,
  nowMs: number,
): Partial<Schedule> {
  const isMoved = cron !== schedule.cron || zone !== schedule.zone;
  if (isMoved && schedule.cron === "") {
    throw new ServerError("invalid_request", "the schedule has a single time; create another one");
  }
  if (isMoved) checkTimes({ cron, zone }, nowMs);
  const continues = paused === false && schedule.paused;
  const passed = schedule.nextAtMs !== 0n && Number(schedule.nextAtMs) <= nowMs;
  let { nextAtMs } = schedule;
  if (cron === "") nextAtMs = continues && passed ? 0n : nextAtMs;
  else if (isMoved || continues) nextAtMs = BigInt(nextTime({ cron, zone }, nowMs) ?? 0);
  return {
    cron,
    zone,
    nextAtMs,
    ...(message !== undefined && { message }),
    ...(paused !== undefined && { paused }),
    updatedAtMs: BigInt(nowMs),
  };
}

function singleTime(at: string, nowMs: number): number {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(at)
    ? Date.parse(at)
    : Number.NaN;
  if (Number.isNaN(time)) {
    throw invalidTime(
      `"${at}" is not a valid time with an offset, such as 2027-01-31T18:00:00+01:00`,
    );
  }
  if (time <= nowMs) throw invalidTime(`${at} has passed`);
  if (time - nowMs > MAX_AHEAD_MS) throw invalidTime(`${at} is more than 400 days ahead`);
  return time;
}

function invalidTime(detail: string): ServerError {
  return new ServerError("invalid_request", detail, { errors: [{ pointer: "/at", detail }] });
}
