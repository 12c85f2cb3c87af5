import { createRuntime, fromWatch } from "@stackwright/krt";
import { keyOf, type Pod, type Service } from "../data.ts";
import type { CreateEngine, Engine } from "./engine.ts";
import { createHandWritten } from "./hand-written.ts";
import { deriveWorkloads, POD, SERVICE } from "./krt.ts";

/**
 * A stand-in for the client of an API server: it hands out copies, as if they had come over a network,
 * through an asynchronous queue.
 */
class FakeWatch<T> {
  readonly initial: readonly T[];
  last: T | undefined;
  #queue: T[] = [];
  #wake: (() => void) | undefined;
  #idle: (() => void) | undefined;

  constructor(initial: readonly T[]) {
    this.initial = initial.map((object) => structuredClone(object));
  }

  push(object: T): void {
    this.last = structuredClone(object);
    this.#queue.push(this.last);
    this.#wake?.();
  }

  /** Resolves when everything that was pushed was taken, and its taker has asked for more. */
  async taken(): Promise<void> {
    while (this.#queue.length > 0 || this.#wake === undefined) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
  }

  async *events(
    signal?: AbortSignal,
  ): AsyncGenerator<{ readonly type: "set"; readonly object: T }> {
    signal?.addEventListener("abort", () => this.#wake?.());
    for (;;) {
      if (signal?.aborted === true) return;
      const objects = this.#queue;
      this.#queue = [];
      for (const object of objects) yield { type: "set", object };
      if (this.#queue.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#idle?.();
      });
      this.#wake = undefined;
    }
  }
}

function watched(
  pods: FakeWatch<Pod>,
  services: FakeWatch<Service>,
  inner: Pick<Engine, "events" | "workloads" | "dispose"> & { settle(): unknown },
): Engine {
  return {
    putPod: (pod) => pods.push(pod),
    putService: (service) => services.push(service),
    settle: async () => {
      await pods.taken();
      await services.taken();
      await inner.settle();
    },
    get events() {
      return inner.events;
    },
    workloads: () => inner.workloads(),
    dispose: () => inner.dispose(),
  };
}

/** The runtime over two fake watches. */
export const createKrtWatched: CreateEngine = (initialPods, initialServices) => {
  const pods = new FakeWatch(initialPods);
  const services = new FakeWatch(initialServices);
  const rt = createRuntime();
  const source = <T>(watch: FakeWatch<T>) => ({
    list: () => ({ objects: watch.initial, revision: "1" }),
    watch: ({ signal }: { readonly signal: AbortSignal }) => watch.events(signal),
  });
  const podsSeen = fromWatch(rt, source(pods), { kind: POD });
  const servicesSeen = fromWatch(rt, source(services), { kind: SERVICE });
  const inner = deriveWorkloads(rt, podsSeen, servicesSeen);
  // A burst is collected for a round of the event loop; it is in the graph when its last object is.
  const isIn = (): boolean => {
    const { last: pod } = pods;
    const { last: service } = services;
    return (
      (pod === undefined || podsSeen.get(keyOf(pod))?.ip === pod.ip) &&
      (service === undefined ||
        servicesSeen.get(keyOf(service))?.selector["app"] === service.selector["app"])
    );
  };
  const settle = async (): Promise<void> => {
    await Promise.all([podsSeen.whenSynced(), servicesSeen.whenSynced()]);
    while (!isIn()) await new Promise((resolve) => setImmediate(resolve));
    await rt.settled();
  };
  return watched(pods, services, {
    settle,
    get events() {
      return inner.events;
    },
    workloads: inner.workloads,
    dispose: inner.dispose,
  });
};

/** The code written by hand over the same. */
export const createHandWrittenWatched: CreateEngine = (initialPods, initialServices) => {
  const pods = new FakeWatch(initialPods);
  const services = new FakeWatch(initialServices);
  const inner = createHandWritten(pods.initial, services.initial);
  const follow = async <T>(watch: FakeWatch<T>, put: (object: T) => void): Promise<void> => {
    for await (const { object } of watch.events()) put(object);
  };
  void follow(pods, (pod) => inner.putPod(pod));
  void follow(services, (service) => inner.putService(service));
  return watched(pods, services, inner);
};
