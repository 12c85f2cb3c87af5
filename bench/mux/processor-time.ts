import { readdirSync, readFileSync } from "node:fs";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";

/** A way of calling, and the processes that work for it beside this one. */
interface ProcessorSubject {
  readonly what: string;
  readonly call: () => Promise<unknown>;
  readonly pids: readonly number[];
}

const ROUNDS = 15;

/**
 * Processor time of a call in microseconds, of this process and the others together. The subjects take turns in pairs of rounds that begin
 * with another one each, and each pair gives one ratio: what else the machine does meets both. Only on Linux.
 *
 * @param subjects the baseline, and what is compared with it
 */
export async function printProcessorTimes(
  title: string,
  subjects: readonly [ProcessorSubject, ProcessorSubject],
  calls: number,
): Promise<void> {
  if (process.platform !== "linux") {
    console.log(`\n${title}: processor time is read on Linux alone`);
    return;
  }
  const samples = subjects.map((): number[] => []);
  const called = subjects.map((): number[] => []);
  for (const { call } of subjects) for (let i = 0; i < calls; i += 1) await call();
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) {
      const { call, pids } = subjects[index] as ProcessorSubject;
      const others = sum(pids.map(processorUs));
      const own = process.cpuUsage();
      for (let i = 0; i < calls; i += 1) await call();
      const spent = process.cpuUsage(own);
      const ofOthers = sum(pids.map(processorUs)) - others;
      samples[index]?.push((spent.user + spent.system + ofOthers) / calls);
      called[index]?.push(ofOthers / calls);
    }
  }
  const [baseline, ours] = subjects.map(({ what }, index) => spreadOf(what, samples[index] ?? []));
  if (baseline === undefined || ours === undefined) return;
  const ratios = spreadOf(
    "ratio",
    (samples[1] ?? []).map((value, round) => value / (samples[0]?.[round] ?? value)),
  );
  console.log(`\n${title}, processor time of all processes, ${ROUNDS} pairs of rounds\n`);
  console.log("| what | µs a call | least-most | without the caller |");
  console.log("|---|---|---|---|");
  for (const [index, row] of [baseline, ours].entries()) {
    const { middle } = spreadOf("", called[index] ?? []);
    const range = `${row.least?.toFixed(0)}-${row.most?.toFixed(0)}`;
    console.log(`| ${row.subject} | ${row.middle.toFixed(0)} | ${range} | ${middle.toFixed(0)} |`);
  }
  console.log(
    `\nRatio of a pair: ${ratios.middle.toFixed(2)} (${ratios.least?.toFixed(2)}-${ratios.most?.toFixed(2)}); what is added is ${(ratios.middle - 1).toFixed(2)} of a call`,
  );
  recordFigure({
    name: `mux: ${title}, processor time: ${ours.subject}`,
    unit: "us",
    size: 1,
    of: "call",
    ours,
    baseline,
    target: TARGET,
  });
}

/** The call itself, and at most 1.2 of it for the mux with its hop. */
const TARGET = 2.2;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** What the threads of a process have run, in microseconds. */
function processorUs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((thread) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // A thread that has ended in between.
      return 0;
    }
  });
  return sum(ns) / 1000;
}
