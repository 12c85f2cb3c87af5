export { createTracing } from "./tracing.ts";
export { observeRuntime } from "./metrics.ts";

export type { TracingOptions } from "./tracing.ts";
export type { MetricsOptions } from "./metrics.ts";
