import type { GraphOptions } from "./core/graph-options.ts";
import { KrtError } from "./errors.ts";
import type { RuntimeOptions } from "./runtime.ts";
import { createScheduler, type Scheduler } from "./scheduler.ts";
import { Strict } from "./strict/strict.ts";

/** Fills in defaults and checks ranges. Throws `KRT_INVALID_OPTION`. */
export function resolveRuntimeOptions(options: RuntimeOptions): GraphOptions {
  const scheduler = options.scheduler ?? createScheduler();
  const onError = options.onError ?? throwLater(scheduler);
  return {
    scheduler,
    onError,
    onWarning: options.onWarning,
    instrumentation: options.instrumentation,
    sliceMs: positive("sliceMs", options.sliceMs ?? 4),
    maxTurnMs: positive("maxTurnMs", options.maxTurnMs ?? Number.POSITIVE_INFINITY),
    lazy: lazyTurns(options.turns ?? "eager"),
    highWater: positive("highWater", options.highWater ?? 10_000),
    timing: options.timing ?? false,
    explain: options.explain ?? false,
    strict: strictMode(options.strict ?? "off", onError),
  };
}

function lazyTurns(turns: "eager" | "lazy"): boolean {
  if (turns === "lazy" || turns === "eager") return turns === "lazy";
  throw new KrtError(
    "KRT_INVALID_OPTION",
    `turns must be "eager" or "lazy", but is ${String(turns)}`,
  );
}

function throwLater(scheduler: Scheduler): (error: KrtError) => void {
  return (error) =>
    scheduler.macrotask(() => {
      throw error;
    });
}

function strictMode(
  level: "off" | "cheap" | "full",
  report: (error: KrtError) => void,
): Strict | undefined {
  return level === "off" ? undefined : new Strict(level === "full", report);
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new KrtError("KRT_INVALID_OPTION", `${name} must be above 0, but is ${value}`);
}
