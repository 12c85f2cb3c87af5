import type { Figure } from "@stackwright-bench/figures";
import { markdownTable } from "@stackwright-tools/ci/markdown-table";
import { curvesOf, ratioOf } from "./curves.ts";

/** A figure that was to be reached, with what it was when the goal was set. */
interface Goal {
  readonly what: string;
  /** The figure that shows it, by its name and size. */
  readonly figure: readonly [name: string, size: number];
  /** What counts: ours by the baseline of the same run, or ours alone in the unit of the figure. */
  readonly by: "ratio" | "ours";
  /** In November 2026, before the work began. */
  readonly before: number;
  /** What is left if nothing but the work itself costs something: an estimate. */
  readonly floor?: number;
  /** At most this. */
  readonly goal: number;
}

const NO_OP = "no-op plan of null_resource";
const PROVIDER_CALL = "providers: a call, processor time of the client";

export const GOALS: readonly Goal[] = [
  {
    what: `${NO_OP}, 1,000`,
    figure: [`${NO_OP}, time`, 1_000],
    by: "ratio",
    before: 1.34,
    floor: 0.37,
    goal: 0.7,
  },
  {
    what: `${NO_OP}, 3,000`,
    figure: [`${NO_OP}, time`, 3_000],
    by: "ratio",
    before: 0.72,
    floor: 0.2,
    goal: 0.4,
  },
  {
    what: "apply of null_resource, 1,000",
    figure: ["apply of null_resource, time", 1_000],
    by: "ratio",
    before: 0.42,
    floor: 0.1,
    goal: 0.25,
  },
  {
    what: "apply of null_resource, 3,000",
    figure: ["apply of null_resource, time", 3_000],
    by: "ratio",
    before: 0.17,
    floor: 0.05,
    goal: 0.1,
  },
  {
    what: "a call to a provider, ten at a time, processor time",
    figure: [PROVIDER_CALL, 10],
    by: "ours",
    before: 350,
    floor: 25,
    goal: 40,
  },
  {
    what: `memory of a ${NO_OP}, 1,000`,
    figure: [`${NO_OP}, memory`, 1_000],
    by: "ours",
    before: 377,
    floor: 114,
    goal: 162,
  },
  {
    what: `memory of a ${NO_OP}, 3,000`,
    figure: [`${NO_OP}, memory`, 3_000],
    by: "ours",
    before: 452,
    floor: 119,
    goal: 191,
  },
  { what: "version", figure: ["version, time", 1], by: "ours", before: 100, floor: 40, goal: 60 },
  {
    what: "first plan of terraform_data, 1",
    figure: ["first plan of terraform_data, time", 1],
    by: "ours",
    before: 530,
    floor: 100,
    goal: 150,
  },
  {
    what: "validate of terraform_data, 1",
    figure: ["validate of terraform_data, time", 1],
    by: "ours",
    before: 510,
    floor: 90,
    goal: 130,
  },
  {
    what: "first plan of terraform_data, 1, by the reference",
    figure: ["first plan of terraform_data, time", 1],
    by: "ratio",
    before: 13,
    goal: 2,
  },
  {
    what: "plan of one resource of AWS, without calls to services",
    figure: ["plan of one resource of AWS, time", 1],
    by: "ratio",
    before: 0.85,
    floor: 0.55,
    goal: 0.6,
  },
  {
    what: "memory of the schema of AWS, 10 types used",
    figure: ["providers: memory of the schema of AWS, 10 types used", 1],
    by: "ours",
    before: 43,
    floor: 5,
    goal: 8,
  },
  {
    what: "plan of terraform_data, an instance of 50,000",
    figure: ["engine: first plan of terraform_data, independent, an instance", 50_000],
    by: "ours",
    before: 117,
    goal: 80,
  },
  {
    what: "apply of terraform_data, an instance of 50,000",
    figure: ["engine: apply of terraform_data, independent, an instance", 50_000],
    by: "ours",
    before: 525,
    goal: 350,
  },
  {
    what: "PostgreSQL, 16 writers in four processes, by one process",
    figure: ["store: PostgreSQL, 16 writers, time of a write in 4 processes", 16],
    by: "ratio",
    before: 1.97,
    floor: 1,
    goal: 1.11,
  },
  {
    what: "krt: updates in random order, 10,000",
    figure: ["krt: updates in random order", 10_000],
    by: "ratio",
    before: 1.83,
    floor: 1,
    goal: 1.3,
  },
  {
    what: "krt: initial load, 100,000",
    figure: ["krt: initial load", 100_000],
    by: "ratio",
    before: 2,
    floor: 1,
    goal: 1.6,
  },
  {
    what: "a run of 100 resources at a server, by the command",
    figure: ["server: a run, queued to applied", 100],
    by: "ratio",
    before: 1.4,
    floor: 1,
    goal: 1.2,
  },
];

/** The goals as a table of Markdown: what each was, is, and was to be. */
export function goalTable(figures: readonly Figure[], goals: readonly Goal[]): readonly string[] {
  const known = new Map(
    curvesOf(figures).flatMap(({ name, points }) =>
      points.map((figure) => [`${name} ${figure.size}`, figure] as const),
    ),
  );
  const rows = goals.map((goal) => {
    const { what, by, before, floor, goal: most } = goal;
    const figure = known.get(`${goal.figure[0]} ${goal.figure[1]}`);
    const unit = by === "ratio" ? "" : ` ${figure?.unit ?? ""}`;
    const edge = [`${shown(before)}${unit}`, floor === undefined ? "" : `${shown(floor)}${unit}`];
    if (figure === undefined) return [what, edge[0] ?? "", "", "", edge[1] ?? "", shown(most), ""];
    const value = by === "ratio" ? ratioOf(figure) : figure.ours.middle;
    return [
      what,
      edge[0] ?? "",
      `${shown(value)}${unit}`,
      `${shown(figure.baseline.middle)} ${figure.unit}, ${figure.baseline.subject}`,
      edge[1] ?? "",
      `${shown(most)}${unit}`,
      value <= most ? "met" : "**missed**",
    ];
  });
  return markdownTable([["what", "before", "now", "baseline", "floor", "goal", ""], ...rows]);
}

function shown(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}
