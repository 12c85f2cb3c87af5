export type { CheckProviderOptions } from "./check-provider.ts";
export { checkProvider } from "./check-provider.ts";
export type { CheckResult, ConformanceReport, Finding } from "./check-report.ts";
export type { FunctionSample, ProviderSamples, ResourceSample } from "./samples.ts";
export { parseSamples } from "./samples.ts";
