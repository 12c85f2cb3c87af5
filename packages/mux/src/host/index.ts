export type { AttachedProvider, AttachOptions } from "./attach-provider.ts";
export { attachProvider, parseDebugProviders } from "./attach-provider.ts";
export type { DeferredProvider } from "./defer-provider.ts";
export { deferProvider } from "./defer-provider.ts";
export type { DialOptions, EngineClient } from "./engine-client.ts";
export { dialEngine } from "./engine-client.ts";
export type { EngineHost, EngineHostOptions } from "./engine-host.ts";
export { startEngineHost } from "./engine-host.ts";
export { findExecutable } from "./find-executable.ts";
export type {
  HostedProvider,
  HostedState,
  HostOptions,
  RestartPolicy,
} from "./hosted-provider.ts";
export { hostProvider } from "./hosted-provider.ts";
export type { EngineFeatures, LaunchOptions, ProcessLine } from "./launch-options.ts";
export type { LaunchedProvider } from "./launch-provider.ts";
export { launchProvider } from "./launch-provider.ts";
export { LineSplitter, LineTail } from "./line-splitter.ts";
export type { LivenessPolicy } from "./liveness.ts";
export type { PackageParameters } from "./parameterize-provider.ts";
export { parameterizeProvider } from "./parameterize-provider.ts";
export type { ProviderArguments } from "./provider-arguments.ts";
export { parseProviderArguments } from "./provider-arguments.ts";
export type { RunProviderOptions, StopReason } from "./run-provider.ts";
export { runProvider } from "./run-provider.ts";
export type { ProcessExit, SupervisedCommand } from "./supervised-process.ts";
export { describeExit, SupervisedProcess } from "./supervised-process.ts";
