import type { Answer, Order, Task } from "./apart.ts";
import { address, checksum, createPods, createRandom, createServices, type Shape } from "./data.ts";
import { ENGINES, WATCHED_ENGINES } from "./engine/index.ts";
import { type Operation, threadMs, warmUp } from "./measure.ts";

/** One engine with one task, in the process that `measureApart` has made for it. */
const [, , name = "", task = "pods", shapeText = "{}", clock = "thread"] = process.argv;
/** Processor time of this thread, or the time that passes where another engine has several threads. */
const now = clock === "wall" ? () => performance.now() : threadMs;
const shape = JSON.parse(shapeText) as Shape;
const pods = createPods(shape);
const services = createServices(shape);
const create = (ENGINES.get(name) ?? WATCHED_ENGINES.get(name))!;
const engine = create(pods, services);
await engine.settle();
let turn = 0;

function shuffled<T>(list: readonly T[]): T[] {
  const random = createRandom(1);
  const copy = list.slice();
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}

function updatesOf(order: typeof pods): Operation {
  return () => {
    turn++;
    for (const [i, pod] of order.entries()) {
      engine.putPod({ ...pod, ip: address(turn * order.length + i) });
    }
    return engine.settle();
  };
}

const TASKS: Readonly<Record<Task, () => Operation>> = {
  /** All pods get a new address, one by one. */
  pods: () => updatesOf(pods),
  "pods in random order": () => updatesOf(shuffled(pods)),
  /** All services move on to the next app, one by one. */
  services: () => () => {
    turn++;
    for (const [i, service] of services.entries()) {
      engine.putService({ ...service, selector: { app: `app-${(i + turn) % shape.apps}` } });
    }
    return engine.settle();
  },
  /** From nothing to synced. */
  load: () => async () => {
    const loaded = create(pods, services);
    await loaded.settle();
    loaded.dispose();
  },
};
const operation = TASKS[task as Task]();

async function obey(order: Order): Promise<number> {
  if (order.do === "warm up") return warmUp(operation, order.sampleMs, order.ms);
  if (order.do === "sample") {
    globalThis.gc?.();
    const start = now();
    for (let i = 0; i < order.count; i++) await operation();
    return (now() - start) / order.count;
  }
  for (const service of services) engine.putService(service);
  for (const pod of pods) engine.putPod(pod);
  await engine.settle();
  return checksum(engine.workloads());
}

process.on("message", (order: Order) => {
  void obey(order).then((value) => process.send?.({ value } satisfies Answer));
});
