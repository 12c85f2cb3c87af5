import type { Schedule } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that creates a schedule. */
export interface ScheduleOptions extends ServerStackOptions {
  readonly at?: string;
  readonly zone?: string;
  readonly destroy: boolean;
  readonly planOnly: boolean;
  readonly refreshOnly: boolean;
  readonly autoApprove: boolean;
  readonly message?: string;
}

/** Lists the schedules of a stack. */
export async function runsSchedules(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { schedules } = (await client.listSchedules(place, { signal: context.signal })).data;
    const text = schedules.map((one) => `${textOf(one)}\n`).join("");
    const none = `No runs of ${place.project}/${place.stack} are scheduled.\n`;
    const json = `${JSON.stringify(schedules, undefined, 2)}\n`;
    context.terminal.write(options.json ? json : text === "" ? none : text);
    return EXIT.ok;
  });
}

/** Creates a schedule of a stack. */
export async function runsSchedule(
  cron: string | undefined,
  options: ScheduleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { at, zone, message, autoApprove } = options;
  if ((cron === undefined) === (at === undefined)) {
    throw new CommandError("A schedule has either times or a single one.", {
      advice:
        'Say "0 3 * * *" (minute, hour, day, month, day of week), or --at 2027-01-31T18:00:00Z.',
    });
  }
  const mode = modeOf(options);
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const body = {
      mode,
      ...(cron !== undefined && { cron, zone: zone ?? localZone() }),
      ...(at !== undefined && { at }),
      ...(autoApprove && { auto_apply: true }),
      ...(message !== undefined && { message }),
    };
    const { data } = await client.createSchedule({ ...place, body }, { signal: context.signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

/** Pauses a schedule, or lets it continue. */
export async function runsPauseSchedule(
  text: string,
  paused: boolean,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const { id } = await findSchedule(found, text);
    const at = { ...place, schedule: id, ifMatch: "*", body: { paused } };
    const { data } = await client.changeSchedule(at, { signal: context.signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

/** Deletes a schedule. Its runs stay. */
export async function runsUnschedule(
  text: string,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const { id } = await findSchedule(found, text);
    const at = { ...place, schedule: id, ifMatch: "*" };
    await client.deleteSchedule(at, { signal: context.signal });
    writeResult(context, options, {}, `Deleted the schedule ${id}.`);
    return EXIT.ok;
  });
}

/** The schedule whose ID ends with a text: the beginnings of IDs made at one time are alike. */
async function findSchedule(
  { client, place, context }: ServerStack,
  text: string,
): Promise<Schedule> {
  const { schedules } = (await client.listSchedules(place, { signal: context.signal })).data;
  const found = schedules.filter(({ id }) => text !== "" && id.endsWith(text.toUpperCase()));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const what = found.length === 0 ? "no schedule" : "more than one schedule";
  throw new CommandError(`${place.project}/${place.stack} has ${what} "${text}".`, {
    advice: "Use the ID that stackwright runs schedules shows, or the end of it.",
  });
}

function modeOf({
  destroy,
  planOnly,
  refreshOnly,
}: ScheduleOptions): Exclude<Schedule["mode"], "import"> {
  const modes = [
    ...(destroy ? (["destroy"] as const) : []),
    ...(planOnly ? (["plan_only"] as const) : []),
    ...(refreshOnly ? (["refresh_only"] as const) : []),
  ];
  if (modes.length > 1) {
    throw new CommandError("A run has one of --destroy, --plan-only and --refresh-only.");
  }
  return modes[0] ?? "apply";
}

function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function textOf(schedule: Schedule): string {
  const { id, cron, zone, mode, paused, message } = schedule;
  const parts = [
    cron === undefined ? "once" : `"${cron}" ${zone}`,
    mode.replace("_", " "),
    ...(schedule.auto_apply === true ? ["applied without an approval"] : []),
    ...(message === "" ? [] : [message]),
    paused ? "paused" : schedule.next_at === undefined ? "over" : `next at ${schedule.next_at}`,
    ...(schedule.last_problem === undefined
      ? []
      : [`left out at ${schedule.last_at}: ${schedule.last_problem}`]),
  ];
  return printable(`${id}: ${parts.join(", ")}`);
}
