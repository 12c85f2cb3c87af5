import { isClientError, type Run } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { approvalFacts } from "../runs/approval-facts.ts";
import { attendRun } from "../runs/attend-run.ts";
import { comparisonLines } from "../runs/comparison-text.ts";
import { dependentLines } from "../runs/dependent-lines.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { obstaclesOf } from "../runs/run-obstacles.ts";
import {
  findRun,
  openServerStack,
  type ServerStack,
  type ServerStackOptions,
} from "../runs/run-place.ts";
import { phaseText } from "../runs/run-text.ts";
import { humanRunView, jsonRunView } from "../runs/run-view.ts";
import { printable } from "../terminal/printable.ts";

/** Lists the latest runs of a stack, the newest first. */
export async function runsList(
  options: ServerStackOptions & { readonly limit: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const { client, place } = await openServerStack(options, context);
  const limit = Math.max(1, Math.min(10_000, Number(options.limit) || 20));
  const runs = await withServerErrors(client.server, async () => {
    const found: Run[] = [];
    for await (const run of client.each("ListRuns", { ...place, limit: 200 }, { signal })) {
      found.push(run);
    }
    return found.toSorted((a, b) => b.number - a.number).slice(0, limit);
  });
  if (options.json) {
    terminal.write(`${JSON.stringify(runs, undefined, 2)}\n`);
    return EXIT.ok;
  }
  if (runs.length === 0) {
    terminal.writeError(`The stack ${place.project}/${place.stack} has no runs.\n`);
    return EXIT.ok;
  }
  const rows = runs.map(({ number, phase, mode, created_at: at, actor, message }) => [
    String(number),
    phase,
    mode,
    at.slice(0, 19).replace("T", " "),
    printable(actor),
    printable(message),
  ]);
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    terminal.write(`${cells.join("  ").trimEnd()}\n`);
  }
  return EXIT.ok;
}

/** Shows a run with its plan. */
export async function runsShow(
  text: string | undefined,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const server = await openServerStack(options, context);
  return withServerErrors(server.client.server, async () => {
    const run = await findRun(server, text);
    if (options.json) {
      terminal.write(`${JSON.stringify(run, undefined, 2)}\n`);
      return EXIT.ok;
    }
    for (const line of runLines(server, run)) terminal.write(`${line}\n`);
    for (const line of await comparisonLines(server, run)) terminal.write(`${line}\n`);
    for (const line of await obstaclesOf(server, run, context.signal)) terminal.write(`${line}\n`);
    const plan = await planTextOf(server, run);
    if (plan !== undefined) {
      humanRunView(terminal, run).plan(plan);
      const lines = await dependentLines(server, run, context.signal);
      for (const line of lines) terminal.write(`${line}\n`);
    }
    return EXIT.ok;
  });
}

function runLines({ place }: ServerStack, run: Run): readonly string[] {
  const reason = run.reason === undefined ? "" : `: ${printable(run.reason)}`;
  const list = (values: readonly string[]) => values.map(printable).join(", ");
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["ID", run.id],
    ["Stack", `${place.project}/${place.stack}`],
    ["Mode", run.mode],
    ["Tool", run.tool === "stackwright" ? undefined : run.tool],
    ["Compares", run.shadow_of && `the plan of the run ${run.shadow_of}`],
    ["Requested", `${run.created_at} by ${printable(run.actor)}`],
    ["Changed", run.updated_at],
    ["Message", run.message === "" ? undefined : printable(run.message)],
    ["Targets", run.targets.length === 0 ? undefined : list(run.targets)],
    ["Replaces", run.replace.length === 0 ? undefined : list(run.replace)],
    ["Revision", run.revision === undefined ? undefined : String(run.revision)],
    ...approvalFacts(run, Date.now()),
    [
      "Freeze",
      run.freeze_override &&
        `overridden by ${printable(run.freeze_override.actor)}: ${printable(run.freeze_override.reason)}`,
    ],
    ["Cancel", run.cancel && `requested by ${printable(run.cancel.actor)}`],
  ];
  return [
    `${phaseText(run.number, run.phase)}${reason}.`,
    ...facts.flatMap(([name, value]) => {
      return value === undefined ? [] : [`  ${name.padEnd(12)}${value}`];
    }),
  ];
}

/** The plan document of a run; undefined where it has none. */
export async function planTextOf(
  { client, place, context }: ServerStack,
  run: Run,
): Promise<string | undefined> {
  if (run.plan_digest === undefined) return undefined;
  try {
    const target = { ...place, run: run.id };
    return (await client.showPlan(target, { signal: context.signal })).text;
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    return undefined;
  }
}

/** Shows the events of a run so far, or with `follow` until its end. */
export async function runsLogs(
  text: string | undefined,
  options: ServerStackOptions & { readonly follow: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const server = await openServerStack(options, context);
  const { client, place } = server;
  return withServerErrors(client.server, async () => {
    const run = await findRun(server, text);
    const view = options.json ? jsonRunView(terminal) : humanRunView(terminal, run);
    if (options.follow) return attendRun({ ...server, run, view, asks: !options.json });
    for await (const event of client.followRun({ ...place, run: run.id, follow: false, signal })) {
      view.event(event);
    }
    view.ended((await client.showRun({ ...place, run: run.id }, { signal })).data);
    return EXIT.ok;
  });
}
