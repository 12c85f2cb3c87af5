import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeProcess } from "../testing/programs/fake-process.ts";
import type { PoolKey } from "./pool-key.ts";
import { type PooledProviderHandle, type PoolUse, ProviderPool } from "./provider-pool.ts";

/*
 * Whatever runs ask for, and whatever processes do: what the pool promises holds after every step. The model knows who
 * holds which process, and who has ever held it.
 */

const MAX = 3;

interface Held {
  readonly lease: PooledProviderHandle;
  readonly process: FakeProcess;
  readonly run: string;
}

interface History {
  readonly key: string;
  readonly runs: Set<string>;
  hasApplied: boolean;
  wasStopped: boolean;
}

class Model {
  readonly pool = new ProviderPool({ maxProviders: MAX, idleMs: 5000, waitMs: 500 });
  readonly started: FakeProcess[] = [];
  readonly histories = new Map<unknown, History>();
  readonly held: Held[] = [];

  async acquire(run: string, project: string, use: PoolUse): Promise<void> {
    const key: PoolKey = {
      project,
      binaryDigest: "b",
      environmentDigest: "e",
      configurationDigest: "c",
    };
    const leased = this.pool.acquire({
      key,
      run,
      use,
      start: () => {
        const made = new FakeProcess();
        this.started.push(made);
        return Promise.resolve(made);
      },
    });
    // Nobody gives anything back meanwhile, so a wait only ends by its limit.
    const outcome = leased.then(
      (lease) => ({ lease }),
      (error: unknown) => ({ error }),
    );
    await vi.advanceTimersByTimeAsync(0);
    if (this.pool.statistics.waiting > 0) await vi.advanceTimersByTimeAsync(500);
    const result = await outcome;
    if ("error" in result) {
      expect(result.error).toMatchObject({ code: "TFPLUGIN_POOL_FULL" });
      return;
    }
    await this.#check(result.lease, run, project, use);
  }

  async #check(lease: PooledProviderHandle, run: string, key: string, use: PoolUse): Promise<void> {
    // The provider says which one it is by what it is asked.
    const process = await processOf(this.started, lease);
    const history = this.histories.get(process) ?? {
      key,
      runs: new Set<string>(),
      hasApplied: false,
      wasStopped: false,
    };
    expect(process.isClosed).toBe(false);
    expect(history.key).toBe(key);
    expect(history.wasStopped).toBe(false);
    const holders = this.held.filter((other) => other.process === process);
    expect(holders.every((other) => other.run === run)).toBe(true);
    if (use === "apply") expect([...history.runs].every((other) => other === run)).toBe(true);
    if (history.hasApplied) expect(history.runs.has(run)).toBe(true);
    history.runs.add(run);
    history.hasApplied ||= use === "apply";
    this.histories.set(process, history);
    this.held.push({ lease, process, run });
  }

  async release(at: number): Promise<void> {
    const [gone] = this.held.splice(at % Math.max(1, this.held.length), 1);
    await gone?.lease.release();
    await gone?.lease.release();
  }

  async stop(at: number): Promise<void> {
    const held = this.held[at % Math.max(1, this.held.length)];
    if (held === undefined) return;
    await held.lease.provider.stop({});
    const history = this.histories.get(held.process);
    if (history !== undefined) history.wasStopped = true;
  }

  async crash(at: number): Promise<void> {
    this.started[at % Math.max(1, this.started.length)]?.crash();
    await vi.advanceTimersByTimeAsync(0);
  }

  check(): void {
    const alive = this.started.filter(({ isClosed }) => !isClosed).length;
    expect(alive).toBeLessThanOrEqual(MAX);
    const { leased, idle, waiting } = this.pool.statistics;
    expect(waiting).toBe(0);
    expect(leased + idle).toBeLessThanOrEqual(MAX);
    const holding = new Set(
      this.held.filter(({ process }) => !process.isClosed).map(({ process }) => process),
    );
    expect(leased).toBe(holding.size);
  }
}

async function processOf(
  started: readonly FakeProcess[],
  { provider }: PooledProviderHandle,
): Promise<FakeProcess> {
  const { schema } = await provider.schema({});
  for (const process of started) {
    if ((await process.provider.schema({})).schema === schema) return process;
  }
  throw new Error("expected a provider that was started");
}

const run = fc.constantFrom("run-1", "run-2", "run-3");
const at = fc.nat(10);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      fc.constant("acquire"),
      run,
      fc.constantFrom("a", "a", "b"),
      fc.constantFrom("read", "apply"),
    ),
  },
  { weight: 4, arbitrary: fc.tuple(fc.constant("release"), at) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("stop"), at) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("crash"), at) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("wait"), fc.nat(6000)) },
);

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("keeps its promises whatever happens", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const model = new Model();
      for (const [what, ...args] of steps) {
        if (what === "acquire") await model.acquire(...(args as [string, string, PoolUse]));
        else if (what === "release") await model.release(args[0] as number);
        else if (what === "stop") await model.stop(args[0] as number);
        else if (what === "crash") await model.crash(args[0] as number);
        else await vi.advanceTimersByTimeAsync(args[0] as number);
        model.check();
      }
      await model.pool.close();
      expect(model.started.every(({ isClosed }) => isClosed)).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    }),
  );
});
