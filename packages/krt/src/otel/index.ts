export type { MetricsOptions } from "./metrics.ts";
export { observeRuntime } from "./metrics.ts";

export type { TracingOptions } from "./tracing.ts";
export { createTracing } from "./tracing.ts";
