export type { Resolve } from "./json-config.ts";
export { configObject } from "./json-config.ts";
export type { TestObject, TestPlan } from "./provider-driver.ts";
export { ProviderDriver, ProviderRefusal } from "./provider-driver.ts";
export type { CarriedCall } from "./scripted-transport.ts";
export { ScriptedTransport } from "./scripted-transport.ts";
export type { Transcript, TranscriptEntry } from "./transcript.ts";
export { recordingTransport, replayingTransport } from "./transcript.ts";
