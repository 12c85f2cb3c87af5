import type { GraphOptions } from "./core/graph.ts";
import { KrtError } from "./errors.ts";
import type { RuntimeOptions } from "./runtime.ts";
import { createScheduler } from "./scheduler.ts";

/** Fills in defaults and checks ranges. Throws `KRT_INVALID_OPTION`. */
export function resolveRuntimeOptions(options: RuntimeOptions): GraphOptions {
  const scheduler = options.scheduler ?? createScheduler();
  return {
    scheduler,
    onError:
      options.onError ??
      ((error) => {
        scheduler.macrotask(() => {
          throw error;
        });
      }),
    onDiagnostic: options.onDiagnostic,
    instrumentation: options.instrumentation,
    sliceMs: positive("sliceMs", options.sliceMs ?? 10),
    maxTurnMs: positive("maxTurnMs", options.maxTurnMs ?? Number.POSITIVE_INFINITY),
    highWater: positive("highWater", options.highWater ?? 10_000),
    timing: options.timing ?? false,
    explain: options.explain ?? false,
    strict: undefined,
  };
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new KrtError("KRT_INVALID_OPTION", `${name} must be above 0, but is ${value}`);
}
