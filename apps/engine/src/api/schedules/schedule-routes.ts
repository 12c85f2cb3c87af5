import { Schedule } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { memberPlace, type Place } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { readQueue } from "../../queue/stack-queue.ts";
import { idOf, type StoredRow, type Transaction, transact } from "../../queue/transaction.ts";
import { checkTimes, nextTime } from "../../schedule/schedule-times.ts";
import {
  type ApiParts,
  etagOf,
  MatchHeader,
  ProjectName,
  requireMatch,
  routeSchema,
  StackNameSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { MODE_OF } from "../runs/run-view.ts";
import { NewSchedule, ScheduleChange, ScheduleView, scheduleViewOf } from "./schedule-view.ts";

const ScheduleParams = Type.Object({
  project: ProjectName,
  stack: StackNameSchema,
  schedule: Type.String({ pattern: "^[0-9A-Z]{26}$" }),
});
const SCHEDULES = "/projects/:project/stacks/:stack/schedules";
const CHANGED = { 412: "it changed since it was read", 428: "If-Match is missing" };
const KIND = SERVER_KINDS.schedule;

/** Schedules of one stack. */
const MAX_SCHEDULES = 20;
/** How far ahead a single time may lie. */
const MAX_AHEAD_MS = 400 * 24 * 3_600_000;

type InStack = { Params: Static<typeof StackParams> };
type InSchedule = { Params: Static<typeof ScheduleParams> };

/** `/projects/{project}/stacks/{stack}/schedules` */
export function scheduleRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, clock, principalOf } = parts;
  const placeOf = async (request: FastifyRequest<InSchedule>): Promise<Place> => {
    const { reference } = await stackOf(parts, principalOf(request), request.params);
    return memberPlace(reference, request.params.schedule);
  };
  const findSchedule = async (tx: Transaction, place: Place): Promise<StoredRow<Schedule>> => {
    const row = await tx.find(KIND, place);
    if (row === undefined) throw noSchedule(place);
    return row;
  };

  fastify.get<InStack>(
    SCHEDULES,
    {
      schema: routeSchema(
        "List the schedules of a stack, the oldest first",
        "ListSchedules",
        { 200: Type.Object({ schedules: Type.Array(ScheduleView) }) },
        { params: StackParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const { tenancy, name } = memberPlace(reference, "");
      const found = await storage.list("strong", KIND.type, tenancy, name);
      const schedules = found.map((one) => scheduleViewOf(decodeRecord(KIND, one)));
      return { schedules: schedules.toSorted((a, b) => (a.id < b.id ? -1 : 1)) };
    },
  );

  fastify.post<InStack & { Body: Static<typeof NewSchedule> }>(
    SCHEDULES,
    {
      schema: routeSchema(
        "Create a schedule: runs of the configuration that was applied last",
        "CreateSchedule",
        { 201: ScheduleView },
        { params: StackParams, body: NewSchedule },
        { 422: "the stack has as many schedules as it may" },
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
      const { made, generation } = await transact(parts, async (tx) => {
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

  fastify.get<InSchedule>(
    `${SCHEDULES}/:schedule`,
    {
      schema: routeSchema(
        "Show a schedule; its entity tag is what If-Match takes",
        "ShowSchedule",
        { 200: ScheduleView },
        { params: ScheduleParams },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const found = await readStored(storage, "strong", idOf(KIND, place));
      if (found === undefined) throw noSchedule(place);
      reply.header("etag", etagOf(found.generation));
      return scheduleViewOf(decodeRecord(KIND, found));
    },
  );

  fastify.patch<InSchedule & { Body: Static<typeof ScheduleChange> }>(
    `${SCHEDULES}/:schedule`,
    {
      schema: routeSchema(
        "Change the times or the message of a schedule, pause it, or let it continue",
        "ChangeSchedule",
        { 200: ScheduleView },
        { params: ScheduleParams, body: ScheduleChange, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      const { actor } = principalOf(request);
      const { message, generation } = await transact(parts, async (tx) => {
        const row = await findSchedule(tx, place);
        requireMatch(request, row.resource.generation);
        tx.update(row, { ...changed(row.message, request.body, tx.nowMs), actor });
        return { message: row.message, generation: tx.generation };
      });
      reply.header("etag", etagOf(generation));
      return scheduleViewOf(message);
    },
  );

  fastify.delete<InSchedule>(
    `${SCHEDULES}/:schedule`,
    {
      schema: routeSchema(
        "Delete a schedule; its runs stay",
        "DeleteSchedule",
        { 204: Type.Null() },
        { params: ScheduleParams, headers: MatchHeader },
        CHANGED,
      ),
      config: { access: "operator" },
    },
    async (request, reply) => {
      const place = await placeOf(request);
      await transact(parts, async (tx) => {
        const row = await findSchedule(tx, place);
        requireMatch(request, row.resource.generation);
        tx.remove(row);
      });
      return reply.code(204).send();
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

function noSchedule({ name }: Place): ServerError {
  const id = name.slice(name.indexOf(".") + 1);
  return new ServerError("not_found", `the stack has no schedule ${id}`);
}
