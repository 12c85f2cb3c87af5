import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openChannel } from "@stackwright/proto/grpc";
import { ListRequest } from "@stackwright/proto/pulumirpc";
import { expect, it, vi } from "vitest";
import { createResourceProviderClient } from "../../grpc/resource-provider-client.ts";
import { serveResourceProvider } from "../../grpc/resource-provider-server.ts";
import { launchProvider } from "../../host/launch-provider.ts";
import { createMux, type Mux } from "../../mux.ts";
import type { ResourceProvider } from "../../resource-provider.ts";
import { ECHO, isThere, shell } from "../programs/programs.ts";
import { createOf, namedProvider, RUNS } from "./chaos-server.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Used heap in bytes after everything that can go has gone. */
async function usedHeap(): Promise<number> {
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    collect();
  }
  return process.memoryUsage().heapUsed;
}

async function threeServers(): Promise<Mux> {
  const continuationToken = "x".repeat(100_000);
  const failing = namedProvider("Failing", {
    create: () => Promise.reject(new Error("no")),
    async *list() {
      for (;;) yield { response: { $case: "continuation", value: { continuationToken } } };
    },
  });
  return createMux({
    servers: [
      { name: "a", connect: () => namedProvider("A") },
      {
        name: "b",
        connect: () => namedProvider("B"),
        limits: { maxConcurrent: 5, callTimeoutMs: 60_000 },
      },
      { name: "f", connect: () => failing },
    ],
  });
}

/** Calls of every outcome: success, error, abort, a stream that is left. */
async function work(provider: ResourceProvider, calls: number, signal: AbortSignal): Promise<void> {
  for (let done = 0; done < calls; done += 10) {
    const batch: Promise<unknown>[] = [];
    for (const name of ["A", "B", "A", "B", "A", "B", "A"]) {
      batch.push(provider.create(createOf(name), { signal }));
    }
    batch.push(provider.create(createOf("Failing"), { signal }).catch(() => undefined));
    const controller = new AbortController();
    batch.push(
      provider.create(createOf("B"), { signal: controller.signal }).catch(() => undefined),
    );
    controller.abort();
    batch.push(
      (async () => {
        const request = ListRequest.create({ token: "p:index:Failing" });
        for await (const _item of provider.list(request, { signal })) break;
      })(),
    );
    await Promise.all(batch);
  }
}

/** What keeps the process alive, apart from timers, of which the test runner has its own. */
const handles = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => name !== "Timeout" && name !== "Immediate")
    .toSorted();

it("100,000 calls in process leave no heap, listener or handle behind", async ({ annotate }) => {
  const count = 100_000 * Math.max(1, RUNS);
  await annotate(`${count} calls`, "count");
  await using mux = await threeServers();
  const { signal } = new AbortController();
  await work(mux, 20_000, signal);
  const handlesBefore = handles();
  const before = await usedHeap();
  await work(mux, count, signal);
  expect((await usedHeap()) - before).toBeLessThan(2_000_000);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(handles()).toEqual(handlesBefore);
  expect(mux.status.servers.map(({ running, waiting }) => running + waiting)).toEqual([0, 0, 0]);
}, 120_000);

// A server of Node.js ends a session whose peer resets more than 1,000 streams at over 33 a second; a
// fifth of the calls is reset.
const CALLS_PER_CONNECTION = 4_000;

it("calls over gRPC leave none behind either", async ({ annotate }) => {
  const count = Math.round(1000 * RUNS);
  await annotate(`${count} calls`, "count");
  await using mux = await threeServers();
  const { signal } = new AbortController();
  {
    await using server = await serveResourceProvider(mux);
    const workOver = async (calls: number): Promise<void> => {
      await using channel = openChannel(server.address);
      await work(createResourceProviderClient(channel), calls, signal);
    };
    await workOver(500);
    const before = await usedHeap();
    for (let left = count; left > 0; left -= CALLS_PER_CONNECTION) {
      await workOver(Math.min(left, CALLS_PER_CONNECTION));
    }
    expect((await usedHeap()) - before).toBeLessThan(4_000_000);
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await vi.waitFor(() => {
    expect(handles().filter((name) => name.startsWith("TCP"))).toEqual([]);
  }, 10_000);
}, 600_000);

it("starts that succeed and fail leave no process and no pipe behind", async ({ annotate }) => {
  const count = Math.max(4, Math.round(4 * RUNS));
  await annotate(`${count} processes`, "count");
  const groups: number[] = [];
  const before = handles();
  for (let index = 0; index < count; index += 1) {
    await launchProvider({ ...shell("echo no port"), startTimeoutMs: 5000 }).catch(() => undefined);
    await launchProvider({ ...shell("sleep 60"), startTimeoutMs: 20 }).catch(() => undefined);
  }
  for (let index = 0; index < count / 4; index += 1) {
    await using launched = await launchProvider(ECHO);
    groups.push(launched.group);
  }
  await vi.waitFor(() => expect(groups.filter((group) => isThere(-group))).toEqual([]), {
    timeout: 10_000,
  });
  await vi.waitFor(() => {
    expect(handles()).toEqual(before);
  }, 10_000);
}, 600_000);
