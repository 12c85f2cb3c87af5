import { fromNative, type NativeInput } from "@stackwright/cty";
import {
  diffValues,
  planView,
  renderMarkdown,
  renderTerminal,
  showDiff,
} from "@stackwright/plan-view";
import { recordFigure } from "@stackwright-bench/figures";
import { longList, planOf, type Sides, sides } from "./subjects.ts";

/*
 * What a view of a plan costs, next to writing the same values as JSON and to a difference by position of the same plain data,
 * in the same run. Three sizes show how the cost grows.
 */

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const SIZES = [1_000, 5_000, 10_000];

/** Processor time of this thread in milliseconds: what others do on the machine does not count. */
function now(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of one call, the median of several, after one that is not counted. */
function measure(run: () => unknown): number {
  run();
  const times = Array.from({ length: ROUNDS }, () => {
    globalThis.gc?.();
    const start = now();
    run();
    return now() - start;
  }).toSorted((x, y) => x - y);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}

/** The difference by position: changed leaves, without pairs, documents, secrets and reasons. */
function positional(before: NativeInput, after: NativeInput, path: string, found: string[]): void {
  if (typeof before !== "object" || typeof after !== "object" || !before || !after) {
    if (before !== after) found.push(path);
    return;
  }
  const [was, is] = [Object.entries(before), new Map(Object.entries(after))];
  for (const [name, value] of was) {
    if (is.has(name)) positional(value, is.get(name) as NativeInput, `${path}.${name}`, found);
    else found.push(path);
    is.delete(name);
  }
  for (const name of is.keys()) found.push(`${path}.${name}`);
}

function changedLeaves(objects: readonly Sides[]): number {
  const found: string[] = [];
  for (const { before, after } of objects) positional(before, after, "", found);
  return found.length;
}

const shown = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

console.log(`node ${process.version}, ${process.platform}-${process.arch}, ${ROUNDS} rounds`);
const part = process.argv[2] ?? "all";
if (part !== "lists") {
  const plans = SIZES.map((size) => {
    const objects = sides(size);
    const plan = planOf(objects);
    const view = planView(plan);
    const viewed = measure(() => planView(plan));
    const written = measure(() => JSON.stringify(objects));
    recordFigure({
      name: "plan view: the view of a plan",
      unit: "ms",
      size,
      of: "changes",
      ours: { subject: "planView", middle: viewed },
      baseline: { subject: "JSON.stringify of the objects", middle: written },
    });
    return {
      changes: size,
      "view bytes": JSON.stringify(view).length,
      "plain bytes": JSON.stringify(objects).length,
      planView: shown(viewed),
      terminal: shown(measure(() => renderTerminal(view))),
      Markdown: shown(measure(() => renderMarkdown(view))),
      "JSON.stringify": shown(written),
      "by position": shown(measure(() => changedLeaves(objects))),
    };
  });
  console.table(plans);
}
if (part !== "plans") {
  const lists = [100, 300, 900].map((size) => {
    const list = longList(size);
    const [before, after] = [fromNative(list.before), fromNative(list.after)];
    const items = diffValues(before, after);
    const member = items.kind === "members" ? items.members[0]?.diff : undefined;
    const pairs =
      member?.kind === "items" ? member.items.filter(({ pairedBy }) => pairedBy !== undefined) : [];
    return {
      elements: size,
      pairs: pairs.length,
      diffValues: shown(measure(() => showDiff(diffValues(before, after)))),
      "JSON.stringify": shown(measure(() => JSON.stringify(list))),
      "by position": shown(measure(() => changedLeaves([list]))),
      "leaves by position": changedLeaves([list]),
    };
  });
  console.table(lists);
}
