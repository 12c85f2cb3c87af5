import {
  address,
  checksum,
  createPods,
  createRandom,
  createServices,
  type Pod,
  type Shape,
  usualShape,
} from "../data.ts";
import type { Engine } from "../engine/engine.ts";
import { ENGINES } from "../engine/index.ts";
import { measure, type Operation, type Timing } from "../measure.ts";
import { heading, TIMING_HEAD, table, target, timingRows } from "../report.ts";

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

/** All pods get a new address, one by one. */
function podUpdates({ engines, pods }: Bench): Map<string, Operation> {
  return operations(engines, (engine, turn) => {
    for (const [i, pod] of pods.entries()) {
      engine.putPod({ ...pod, ip: address((turn + 1) * pods.length + i) });
    }
  });
}

/** All services move on to the next app, one by one. */
function selectorUpdates({ engines, shape }: Bench): Map<string, Operation> {
  const services = createServices(shape);
  return operations(engines, (engine, turn) => {
    for (const [i, service] of services.entries()) {
      engine.putService({ ...service, selector: { app: `app-${(i + turn + 1) % shape.apps}` } });
    }
  });
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

/** Brings every engine to the same state and compares what they made of it. */
async function agree(bench: Bench): Promise<void> {
  const sums = new Map<string, number>();
  for (const [name, engine] of bench.engines) {
    for (const service of createServices(bench.shape)) engine.putService(service);
    for (const pod of bench.pods) engine.putPod(pod);
    await engine.settle();
    sums.set(name, checksum(engine.workloads()));
  }
  if (new Set(sums.values()).size !== 1) {
    throw new Error(`the engines disagree: ${JSON.stringify([...sums])}`);
  }
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
  for (const [name, shape] of shapes) {
    const bench = await setUp(shape, enginesFor(shape.pods));
    const perPod = await measure(podUpdates(bench));
    const perService = await measure(selectorUpdates(bench));
    await agree(bench);
    tearDown(bench);
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
    const pods = createPods(shape);
    const services = createServices(shape);
    const names =
      size > 10_000
        ? ["hand-written", "krt"]
        : ["hand-written", "krt", "signals", "rxjs", "mobx", "db-ivm"];
    const loads = new Map(
      names.map((name): [string, Operation] => [
        name,
        async () => {
          const engine = ENGINES.get(name)!(pods, services);
          await engine.settle();
          engine.dispose();
        },
      ]),
    );
    const timings = await measure(loads);
    rows.push(...timingRows(`${size}`, timings));
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
