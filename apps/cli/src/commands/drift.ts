import type { StackDrift } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { counted } from "../render/counted.ts";
import { driftText } from "../runs/drift-text.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that lists stacks with drift. */
export interface DriftListOptions extends DetailedExitCode {
  readonly server?: string;
  readonly project?: string;
  readonly limit: string;
  readonly json: boolean;
}

/** Options of the commands that show what a check found. */
export type DriftShowOptions = ServerStackOptions & DetailedExitCode;

/** Options of the command that gives a stack a rule. */
export interface DriftSetOptions extends ServerStackOptions {
  readonly every?: string;
  readonly reaction?: Reaction;
  readonly paused: boolean;
  /** `TYPES=TIME`, or `none` for no parts. */
  readonly part?: readonly string[];
}

type Reaction = NonNullable<StackDrift["rule"]>["reaction"];

/** An option of the commands that find drift. */
interface DetailedExitCode {
  /** End with 2 where there is drift. */
  readonly detailedExitcode: boolean;
}

/** Lists the stacks of a server that have drift. */
export async function driftList(
  { server, project, limit, json, detailedExitcode }: DriftListOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const query = { limit: Number(limit), ...(project !== undefined && { project }) };
    const { data } = await client.listDrift(query, { signal: context.signal });
    const { stacks, total, checked, ignored } = data;
    const lines = stacks.map(({ project: at, stack, drift }) => {
      const since = drift.since === undefined ? "" : ` since ${drift.since}`;
      return `${printable(`${at}/${stack}: ${driftText(drift)}${since}`)}\n`;
    });
    const more =
      ignored === 0
        ? ""
        : ` Ignored: ${counted(ignored, "object")} that ${ignored === 1 ? "differs" : "differ"}.`;
    const all = `${total} of ${checked} checked stacks have drift.${more}\n`;
    context.terminal.write(json ? `${JSON.stringify(data, undefined, 2)}\n` : lines.join("") + all);
    return detailedExitcode && total > 0 ? EXIT.changes : EXIT.ok;
  });
}

/** Shows what the last check of a stack found. */
export async function driftShow(
  options: DriftShowOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { data } = await client.showDrift(place, { signal: context.signal });
    writeResult(context, options, data, textOf(data));
    return exitOf(data, options);
  });
}

/** Checks a stack now, and shows what was found. */
export async function driftCheck(
  options: DriftShowOptions & { readonly detach: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { data: run } = await client.checkDrift(place, { signal });
    if (options.detach) {
      writeResult(context, options, run, `Run ${run.number} looks for drift (${run.id}).`);
      return EXIT.ok;
    }
    for await (const event of client.followRun({ ...place, run: run.id, signal })) {
      if (event.type === "end") break;
    }
    const { data: ended } = await client.showRun({ ...place, run: run.id }, { signal });
    const { data } = await client.showDrift(place, { signal });
    const isEnded = ["plan_finished", "no_changes"].includes(ended.phase);
    if (!isEnded || data.run !== run.id) {
      const why = ended.reason ?? data.problem ?? `it is ${ended.phase}`;
      throw new CommandError(`The check of run ${run.number} found nothing out: ${why}.`, {
        advice: `See its log: stackwright runs log ${run.number} --stack ${place.project}/${place.stack}`,
      });
    }
    writeResult(context, options, data, textOf(data));
    return exitOf(data, options);
  });
}

/** Gives a stack a rule of its own by which it is checked. */
export async function driftSet(
  { every, reaction, paused, part, ...options }: DriftSetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { rule } = (await client.showDrift(place, { signal: context.signal })).data;
    const minutes = every === undefined ? (rule?.every_minutes ?? 24 * 60) : minutesOf(every);
    const body = {
      every_minutes: minutes,
      reaction: reaction ?? rule?.reaction ?? "report",
      paused,
      parts: part === undefined ? (rule?.parts ?? []) : partsOf(part),
    };
    const { data } = await client.setDriftRule({ ...place, body }, { signal: context.signal });
    writeResult(context, options, data, ruleTextOf(data));
    return EXIT.ok;
  });
}

/** Takes the rule of a stack away. */
export async function driftUnset(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    await client.deleteDriftRule(place, { signal: context.signal });
    const { data } = await client.showDrift(place, { signal: context.signal });
    writeResult(context, options, data, ruleTextOf(data));
    return EXIT.ok;
  });
}

/** Options of the commands about a difference that is let be. */
interface IgnoredOptions extends ServerStackOptions {
  readonly attribute?: string;
}

/** Options of the command that lets a difference be. */
export interface DriftIgnoreOptions extends IgnoredOptions {
  readonly reason: string;
  readonly for: string;
}

export type DriftHeedOptions = IgnoredOptions;

/** Ignores the drift of objects or of one of their attributes: of all of them, or of none. */
export async function driftIgnore(
  addresses: readonly string[],
  { attribute, reason, for: time, ...options }: DriftIgnoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const seconds = minutesOf(time, "a valid time", "Say --for 12h or --for 5d.") * 60;
    const terms = { reason, expires_in_seconds: seconds };
    const [first, ...others] = addresses.map((address) => ({
      address,
      ...(attribute !== undefined && { attribute }),
    }));
    // A server of an earlier release knows the request for one alone.
    if (first === undefined) throw new CommandError("No address is given.");
    const { data: made } =
      others.length === 0
        ? await client.ignoreDrift({ ...place, body: { ...first, ...terms } }, { signal })
        : await client.ignoreDriftOfSeveral(
            { ...place, body: { differences: [first, ...others], ...terms } },
            { signal },
          );
    const { data } = await client.showDrift(place, { signal });
    const known = new Set(
      [...data.objects, ...(data.ignored_objects ?? [])].map(({ address }) => address),
    );
    const lines = ("ignores" in made ? made.ignores : [made]).map((one) => {
      const note = known.has(one.address) ? "" : " Nothing of it is known to differ now.";
      return printable(`The drift of ${placeOf(one)} is ignored until ${one.until}.${note}`);
    });
    writeResult(context, options, made, lines.join("\n"));
    return EXIT.ok;
  });
}

/** Ends that the drift of an object or of one of its attributes is ignored. */
export async function driftHeed(
  address: string,
  { attribute, ...options }: DriftHeedOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { ignores = [] } = (await client.showDrift(place, { signal })).data;
    const found = ignores.find((one) => one.address === address && one.attribute === attribute);
    if (found === undefined) {
      const all = ignores.map((one) => printable(placeOf(one))).join(", ");
      throw new CommandError(`The drift of ${placeOf({ address, attribute })} is not ignored.`, {
        advice: all === "" ? "The stack ignores nothing." : `The stack ignores ${all}.`,
      });
    }
    await client.heedDrift({ ...place, ignore: found.id }, { signal });
    const { data } = await client.showDrift(place, { signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

/** `attribute size of lab_object.a`, or the address alone. */
function placeOf({
  address,
  attribute,
}: {
  readonly address: string;
  readonly attribute?: string | undefined;
}): string {
  return attribute === undefined ? address : `attribute ${attribute} of ${address}`;
}

/** Parts of a rule, as options say them. */
function partsOf(texts: readonly string[]): NonNullable<StackDrift["rule"]>["parts"] {
  if (texts.join() === "none") return [];
  return texts.map((text) => {
    const at = text.lastIndexOf("=");
    if (at < 1) {
      throw new CommandError(`"${text}" is not a valid part of the rule.`, {
        advice: "Say --part 'aws_iam_*,aws_kms_*=30m', or --part none to take all parts away.",
      });
    }
    return { types: text.slice(0, at).split(","), every_minutes: minutesOf(text.slice(at + 1)) };
  });
}

const UNIT_MINUTES = { m: 1, h: 60, d: 24 * 60 } as const;

function minutesOf(
  text: string,
  what = "a valid time between two checks",
  advice = "Say --every 30m, --every 6h or --every 1d; the least are 5 minutes.",
): number {
  const [, count, unit] = /^([0-9]{1,6})(m|h|d)$/.exec(text) ?? [];
  if (count === undefined || unit === undefined) {
    throw new CommandError(`"${text}" is not ${what}.`, { advice });
  }
  return Number(count) * UNIT_MINUTES[unit as keyof typeof UNIT_MINUTES];
}

function exitOf(
  { changed, deleted }: StackDrift,
  { detailedExitcode }: DetailedExitCode,
): ExitCode {
  return detailedExitcode && changed + deleted > 0 ? EXIT.changes : EXIT.ok;
}

function textOf(drift: StackDrift): string {
  const { checked_at: checkedAt, since, objects, changed, deleted, run, remedy, problem } = drift;
  const found = checkedAt === undefined ? "Not checked yet." : `Checked at ${checkedAt}:`;
  const lines = [
    checkedAt === undefined ? found : `${found} ${driftText(drift)}.`,
    ...(since === undefined ? [] : [`There is drift since ${since}.`]),
    ...objects.map((one) => {
      const { address, deleted: isGone, attributes, deposed, ignored_attributes: letBe = [] } = one;
      const others = letBe.length === 0 ? "" : ` (ignored: ${letBe.join(", ")})`;
      const what = isGone ? "deleted" : `changed: ${attributes.join(", ")}${others}`;
      return `  ${address}${deposed === undefined ? "" : ` (deposed ${deposed})`} ${what}`;
    }),
    ...(objects.length < changed + deleted
      ? [`  and ${changed + deleted - objects.length} more`]
      : []),
    ...(since === undefined || run === undefined
      ? []
      : [`The plan of the run ${run} has the values.`]),
    ...(remedy === undefined ? [] : [`The run ${remedy} was requested for it.`]),
    ...(problem === undefined ? [] : [`Problem: ${problem}.`]),
    ...(drift.ignores ?? []).map(
      (one) => `Ignored until ${one.until}: ${placeOf(one)}, by ${one.actor}: ${one.reason}`,
    ),
    ruleTextOf(drift),
  ];
  return lines.map(printable).join("\n");
}

function ruleTextOf({ rule, next_at: nextAt }: StackDrift): string {
  if (rule === undefined) return "It is not checked by itself; stackwright drift set says when.";
  const { every_minutes: minutes, reaction, paused, from, parts } = rule;
  const some = parts.map(
    (part) => `, ${part.types.join(" and ")} every ${timeOf(part.every_minutes)}`,
  );
  const what = `every ${timeOf(minutes)}${some.join("")}, by the rule of the ${from}, with the reaction ${reaction}`;
  if (paused) return `Checks are paused (${what}).`;
  return `It is checked ${what}${nextAt === undefined ? "" : `; next at ${nextAt}`}.`;
}

function timeOf(minutes: number): string {
  if (minutes % UNIT_MINUTES.d === 0) return `${minutes / UNIT_MINUTES.d}d`;
  return minutes % UNIT_MINUTES.h === 0 ? `${minutes / UNIT_MINUTES.h}h` : `${minutes}m`;
}
