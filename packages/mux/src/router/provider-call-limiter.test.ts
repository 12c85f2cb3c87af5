import { deferred } from "@stackwright/base/deferred";
import { createManualClock } from "@stackwright/base/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderCallLimiter, type ProviderCallLimits } from "./provider-call-limiter.ts";

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function setUp(limits: ProviderCallLimits) {
  const clock = createManualClock();
  const gate = new ProviderCallLimiter(limits, clock);
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const call = (id: number, signal?: AbortSignal) =>
    gate.run(async () => {
      begun.push(id);
      const { promise, resolve } = deferred<void>();
      ends.set(id, resolve);
      await promise;
    }, signal);
  return { clock, gate, begun, ends, call };
}

describe("ProviderCallLimiter", () => {
  it("runs no more calls at a time than allowed, in the order of their arrival", async () => {
    const { begun, ends, call } = setUp({ maxConcurrent: 2 });
    const calls = [0, 1, 2, 3].map((id) => call(id));
    await settle();
    expect(begun).toEqual([0, 1]);
    ends.get(1)?.();
    await settle();
    expect(begun).toEqual([0, 1, 2]);
    for (const id of [0, 2]) ends.get(id)?.();
    await settle();
    ends.get(3)?.();
    await Promise.all(calls);
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it("lets a burst begin, and then as many per second as allowed", async () => {
    const { clock, begun, call } = setUp({ callsPerSecond: 2, burst: 3 });
    for (let id = 0; id < 10; id += 1) void call(id);
    await settle();
    expect(begun).toHaveLength(3);
    await clock.advance(499);
    expect(begun).toHaveLength(3);
    await clock.advance(1);
    expect(begun).toHaveLength(4);
    await clock.advance(1000);
    expect(begun).toHaveLength(6);
  });

  it("forgets a waiting call that was given up, and keeps its signal free of listeners", async () => {
    const { gate, begun, ends, call } = setUp({ maxConcurrent: 1 });
    const first = call(0);
    const controller = new AbortController();
    const second = call(1, controller.signal);
    const third = call(2);
    controller.abort(new Error("changed my mind"));
    await expect(second).rejects.toThrow("changed my mind");
    expect(gate.load).toEqual({ running: 1, waiting: 1 });
    ends.get(0)?.();
    await first;
    await settle();
    ends.get(2)?.();
    await third;
    expect(begun).toEqual([0, 2]);
  });

  it("gives the place of a failed call to the next", async () => {
    const { gate } = setUp({ maxConcurrent: 1 });
    await expect(gate.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(gate.run(() => Promise.resolve(1))).resolves.toBe(1);
  });

  it("refuses a call when too many wait", async () => {
    const { call } = setUp({ maxConcurrent: 1, maxWaiting: 1 });
    void call(0);
    void call(1);
    await expect(call(2)).rejects.toMatchObject({ code: "MUX_SERVER_OVERLOADED", retryable: true });
  });

  it.each([{ maxConcurrent: 0 }, { callsPerSecond: -1 }, { burst: Number.NaN }, { burst: 0.5 }])(
    "refuses %j",
    (limits) => {
      expect(() => setUp(limits)).toThrow(expect.objectContaining({ code: "MUX_OPTIONS_INVALID" }));
    },
  );

  it("keeps its limits and lets every call through, whatever happens", async () => {
    const action = fc.oneof(
      fc.constant({ kind: "call" as const }),
      fc.constant({ kind: "end" as const }),
      fc.record({ kind: fc.constant("abort" as const), index: fc.nat(20) }),
      fc.record({ kind: fc.constant("advance" as const), ms: fc.nat(400) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
        const { clock, gate, begun, ends, call } = setUp({
          maxConcurrent: 3,
          callsPerSecond: 10,
          burst: 2,
        });
        const controllers: AbortController[] = [];
        const calls: Promise<unknown>[] = [];
        const startedAt: number[] = [];
        const note = () => {
          while (startedAt.length < begun.length) startedAt.push(clock.monotonicMs());
          expect(gate.load.running).toBeLessThanOrEqual(3);
        };
        const endOne = async () => {
          const [id] = ends.keys();
          if (id === undefined) return;
          ends.get(id)?.();
          ends.delete(id);
          await settle();
        };
        for (const step of actions) {
          if (step.kind === "call") {
            const controller = new AbortController();
            controllers.push(controller);
            calls.push(call(calls.length, controller.signal).catch(() => undefined));
            await settle();
          } else if (step.kind === "end") await endOne();
          else if (step.kind === "abort") {
            controllers[step.index]?.abort(new Error("given up"));
            await settle();
          } else await clock.advance(step.ms);
          note();
        }
        for (let round = 0; round < 200 && gate.load.running + gate.load.waiting > 0; round += 1) {
          await clock.advance(100);
          note();
          await endOne();
        }
        await Promise.all(calls);
        expect(gate.load).toEqual({ running: 0, waiting: 0 });
        for (const [index, time] of startedAt.entries()) {
          const within = startedAt.filter((other, i) => i >= index && other < time + 1000);
          expect(within.length).toBeLessThanOrEqual(12);
        }
      }),
      { numRuns: 50 },
    );
  });
});
