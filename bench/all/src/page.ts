import type { Figure, Measured } from "@stackwright-bench/figures";
import { markdownTable } from "@stackwright-tools/ci/markdown-table";
import { type Curve, curvesOf, ratioOf } from "./curves.ts";
import { GOALS, goalTable } from "./goals.ts";
import type { Job } from "./jobs.ts";

/** What a run of all benchmarks found. */
export interface Recorded {
  /** Cores, Node, versions of the peers. */
  readonly machine: readonly string[];
  readonly jobs: readonly RecordedJob[];
}

export interface RecordedJob {
  readonly name: string;
  readonly commit: string;
  /** When it was begun, as a date. */
  readonly date: string;
  /** Of the machine, before the job and after it, over a minute. */
  readonly load: readonly [before: number, after: number];
  readonly minutes: number;
  /** Undefined where it came to its end. */
  readonly failed?: string;
  readonly figures: readonly Figure[];
}

/** More than this before a job: something else ran. */
const BUSY = 1.5;

/** The name of a plot's file. */
export function plotName({ name }: Curve): string {
  return `${name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")}.svg`;
}

/** `docs/benchmarks.md`. */
export function renderPage(recorded: Recorded, jobs: readonly Job[]): string {
  const lines = [
    "# Benchmarks",
    "",
    "Written by `node bench/all/run.ts --record`, which runs the benchmarks of all packages one after the other and takes from each the",
    "figures that have a baseline in the same run: the reference command, a bare driver, the platform's own codec, code written by hand. Ours and",
    "the baseline take turns, so that what else the machine does meets both. A ratio is ours by the baseline: below 1 is less than it needs.",
    "Brackets hold least and most of the rounds. What a benchmark does, and figures of former times with their reasons, is in `BENCHMARKS.md` of",
    "its folder under `bench`.",
    "",
    `On ${recorded.machine.join("; ")}.`,
    "",
    "## Goals",
    "",
    "What was to be reached, from the figures below: ours by the baseline where there is no unit. `before` is what it was when the goal was set, in",
    "November 2026; `floor` estimates what would be left if nothing but the work itself cost something. Why one is missed is in `BENCHMARKS.md` of its folder.",
    "",
    ...goalTable(
      recorded.jobs.flatMap(({ figures }) => figures),
      GOALS,
    ),
    "",
  ];
  for (const job of recorded.jobs) lines.push(...section(job, jobs));
  return `${lines.join("\n").trimEnd()}\n`;
}

function section(job: RecordedJob, jobs: readonly Job[]): string[] {
  const known = jobs.find(({ name }) => name === job.name);
  const [before, after] = job.load;
  const busy =
    before > BUSY ? " **The machine was busy: times say little, ratios a bit more.**" : "";
  const lines = [
    `## ${job.name}`,
    "",
    `${capital(known?.what ?? job.name)}. \`node ${known?.words.join(" ") ?? ""}\`, ${job.minutes.toFixed(1)} minutes at commit ${job.commit}, ${job.date}, load ${before.toFixed(1)} before it and ${after.toFixed(1)} after it.${busy}`,
    "",
  ];
  if (job.failed !== undefined) lines.push(`It did not come to its end: ${job.failed}.`, "");
  const curves = curvesOf(job.figures);
  if (curves.length === 0) {
    lines.push("No figure with a baseline.", "");
    return lines;
  }
  const rows = curves.flatMap((curve) => curve.points.map((figure) => row(figure)));
  lines.push(
    ...markdownTable([["what", "size", "ours", "baseline", "ratio", "target"], ...rows]),
    "",
  );
  for (const curve of curves.filter(({ points }) => points.length > 2)) {
    lines.push(`![${curve.name} by ${curve.of}](benchmarks/${plotName(curve)})`, "");
  }
  return lines;
}

function row(figure: Figure): string[] {
  const ratio = ratioOf(figure);
  const { target } = figure;
  const met = target === undefined ? "" : `${target} ${ratio <= target ? "met" : "**missed**"}`;
  const size = figure.size.toLocaleString("en-US", { maximumFractionDigits: 1 });
  return [
    figure.name,
    `${size} ${figure.of}`,
    cell(figure.ours, figure.unit, false),
    cell(figure.baseline, figure.unit, true),
    ratio.toFixed(2),
    met,
  ].map((text) => text.replaceAll("|", "\\|"));
}

function cell(measured: Measured, unit: string, named: boolean): string {
  const { middle, least, most } = measured;
  const range =
    least === undefined || most === undefined || least === most
      ? ""
      : ` (${shown(least)} to ${shown(most)})`;
  return `${shown(middle)}${range} ${unit}${named ? `, ${measured.subject}` : ""}`;
}

function shown(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
