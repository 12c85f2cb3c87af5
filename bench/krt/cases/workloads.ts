import { measureApart } from "../apart.ts";
import {
  createPods,
  createRandom,
  createServices,
  type Pod,
  type Shape,
  usualShape,
} from "../data.ts";
import type { Engine } from "../engine/engine.ts";
import { ENGINES, WATCHED_ENGINES } from "../engine/index.ts";
import { measure, type Operation, type Timing } from "../measure.ts";
import { heading, recordTimings, TIMING_HEAD, table, target, timingRows } from "../report.ts";

/** Engines with what each has done so far, so that every one goes through the same writes. */
interface Bench {
  readonly engines: ReadonlyMap<string, Engine>;
  readonly shape: Shape;
  readonly pods: readonly Pod[];
}

async function setUp(shape: Shape, names = [...ENGINES.keys()]): Promise<Bench> {
  const pods = createPods(shape);
  const engines = new Map<string, Engine>();
  for (const name of names) engines.set(name, ENGINES.get(name)!(pods, createServices(shape)));
  for (const engine of engines.values()) await engine.settle();
  return { engines, shape, pods };
}

function tearDown({ engines }: Bench): void {
  for (const engine of engines.values()) engine.dispose();
}

/** All pods change in a label that nothing reads. */
function unusedUpdates({ engines, pods }: Bench): Map<string, Operation> {
  return operations(engines, (engine, turn) => {
    for (const pod of pods) {
      engine.putPod({ ...pod, labels: { ...pod.labels, unused: `${turn}` } });
    }
  });
}

function operations(
  engines: ReadonlyMap<string, Engine>,
  write: (engine: Engine, turn: number) => void,
): Map<string, Operation> {
  return new Map(
    [...engines].map(([name, engine]): [string, Operation] => {
      let turn = 0;
      return [
        name,
        () => {
          write(engine, turn++);
          return engine.settle();
        },
      ];
    }),
  );
}

const ratio = (timings: ReadonlyMap<string, Timing>, name: string): number =>
  timings.get(name)!.ratio.median;

/** At large sizes one operation of the slower peers takes seconds; the fastest one of each is kept. */
function enginesFor(pods: number): string[] {
  return pods < 5000 ? [...ENGINES.keys()] : ["hand-written", "krt", "signals", "db-ivm"];
}

function fastestPeer(timings: ReadonlyMap<string, Timing>): number {
  const peers = [...timings].filter(([name]) => name !== "hand-written" && name !== "krt");
  return Math.min(...peers.map(([, { ms }]) => ms.median));
}

/** B1 and B2, at the usual and at one random shape. */
export async function runUpdates(shapes: ReadonlyMap<string, Shape>): Promise<void> {
  const updates: string[][] = [];
  const changes: string[][] = [];
  const pod: [string, Map<string, Timing>][] = [];
  const service: [string, Map<string, Timing>][] = [];
  const shuffled: string[][] = [];
  const watched: string[][] = [];
  for (const [name, shape] of shapes) {
    const engines = enginesFor(shape.pods);
    const perPod = await measureApart(engines, "pods", shape);
    const perService = await measureApart(engines, "services", shape);
    const some = ["hand-written", "krt", "signals"];
    const inRandomOrder = await measureApart(some, "pods in random order", shape);
    shuffled.push(...timingRows(name, inRandomOrder));
    recordTimings("updates in random order", Number(name), "objects", inRandomOrder, 1.3);
    recordTimings("updates", Number(name), "objects", perPod, 1.3);
    recordTimings("changed selectors", Number(name), "objects", perService, 1.5);
    const behind = await measureApart([...WATCHED_ENGINES.keys()], "pods", shape);
    watched.push(...timingRows(name, behind));
    updates.push(...timingRows(name, perPod));
    changes.push(...timingRows(name, perService));
    pod.push([name, perPod]);
    service.push([name, perService]);
  }
  heading("B1", "all pods get a new address, one write each (one operation: all pods once)");
  table(TIMING_HEAD, updates);
  for (const [name, timings] of pod) {
    const ours = timings.get("krt")!.ms.median;
    const by = ratio(timings, "krt");
    const peer = ours / fastestPeer(timings);
    target("B1", `${name}: ${by.toFixed(2)} of at most 1.3 times hand-written`, by <= 1.3);
    target("B1", `${name}: ${peer.toFixed(2)} of at most 1.1 times the fastest peer`, peer <= 1.1);
  }
  heading("B1", "the same in random order");
  table(TIMING_HEAD, shuffled);
  heading("B1", "the same behind a fake watch: copies of the pods, through an asynchronous queue");
  table(TIMING_HEAD, watched);
  heading(
    "B2",
    "all services change their selector, one write each (one operation: all services once)",
  );
  table(TIMING_HEAD, changes);
  for (const [name, timings] of service) {
    const ours = timings.get("krt")!.ms.median;
    const by = ratio(timings, "krt");
    const peer = ours / fastestPeer(timings);
    target("B2", `${name}: ${by.toFixed(2)} of at most 1.5 times hand-written`, by <= 1.5);
    target("B2", `${name}: ${peer.toFixed(2)} of below 1 times the fastest peer`, peer < 1);
  }
}

/** B3: from nothing to synced. */
export async function runLoads(sizes: readonly number[]): Promise<void> {
  heading("B3", "initial load with 50 services, from nothing to synced");
  const rows: string[][] = [];
  let last = 0;
  for (const size of sizes) {
    const shape = usualShape(size);
    const names =
      size > 10_000
        ? ["hand-written", "krt"]
        : ["hand-written", "krt", "signals", "rxjs", "mobx", "db-ivm"];
    const timings = await measureApart(names, "load", shape);
    rows.push(...timingRows(`${size}`, timings));
    recordTimings("initial load", size, "objects", timings, 2);
    last = ratio(timings, "krt");
  }
  table(TIMING_HEAD, rows);
  target(
    "B3",
    `${sizes.at(-1)} pods: ${last.toFixed(2)} of at most 2 times hand-written`,
    last <= 2,
  );
}

/** B4: changes of what nothing reads. */
export async function runUnused(): Promise<void> {
  heading("B4", "1,000 updates that leave the output as it is");
  const bench = await setUp(usualShape(1000));
  const before = new Map([...bench.engines].map(([name, engine]) => [name, engine.events]));
  const timings = await measure(unusedUpdates(bench));
  table(
    [...TIMING_HEAD, "events"],
    timingRows("1000", timings).map((row) => {
      const seen = bench.engines.get(row[0]!)!.events - before.get(row[0]!)!;
      return [...row, `${seen}`];
    }),
  );
  const events = bench.engines.get("krt")!.events - before.get("krt")!;
  target("B4", `${events} of 0 events`, events === 0);
  tearDown(bench);
}

/** A shape that nobody could tune for. */
export function randomShape(seed: number): Shape {
  const random = createRandom(seed);
  return {
    pods: 500 + random(2500),
    services: 20 + random(100),
    namespaces: 1 + random(6),
    apps: 5 + random(40),
  };
}
