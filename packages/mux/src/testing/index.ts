export type {
  LifecycleHarness,
  LifecycleSample,
  SampleConfig,
} from "./describe-lifecycle-provider.ts";
export { describeLifecycleProvider } from "./describe-lifecycle-provider.ts";
