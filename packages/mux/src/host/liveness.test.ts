import { systemClock } from "@stackwright/base/clock";
import { deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ResourceProvider } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { LivenessProbe } from "./liveness.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A provider that answers its questions in turn: with an error, or not before it is given up. */
function probeOf(answers: readonly ("error" | "silence")[]) {
  let asked = 0;
  const getPluginInfo: ResourceProvider["getPluginInfo"] = (_request, { signal }) => {
    const answer = answers[asked++] ?? "error";
    if (answer === "error") return Promise.reject(new RpcError("UNIMPLEMENTED", "old"));
    const { promise, reject } = deferred<never>();
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    return promise;
  };
  const onDead = vi.fn();
  const probe = new LivenessProbe(
    { ...unimplementedProvider(), getPluginInfo },
    { clock: systemClock, policy: { intervalMs: 100, timeoutMs: 10, failures: 2 }, onDead },
  );
  return { probe, onDead, asked: () => asked };
}

it("takes any answer for life, and one silence between answers for nothing", async () => {
  const { probe, onDead, asked } = probeOf(["error", "silence", "error", "silence", "error"]);
  await vi.advanceTimersByTimeAsync(550);
  expect([asked(), onDead.mock.calls.length]).toEqual([5, 0]);
  probe[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(1000);
  expect([asked(), vi.getTimerCount()]).toEqual([5, 0]);
});

it("says once that a provider is dead which stayed silent as often as allowed", async () => {
  const { onDead, asked } = probeOf(["error", "silence", "silence", "silence"]);
  await vi.advanceTimersByTimeAsync(1000);
  expect([asked(), onDead.mock.calls.length]).toEqual([3, 1]);
  expect(vi.getTimerCount()).toBe(0);
});
