export type { BuiltinProviderOptions } from "./builtin-provider.ts";
export { BUILTIN_ADDRESS, createBuiltinProvider } from "./builtin-provider.ts";
export { BUILTIN_SCHEMA } from "./declarations.ts";
export type { TfvarsReader } from "./functions.ts";
export type { HttpStateOptions } from "./http-state.ts";
export { httpStateBackend } from "./http-state.ts";
export type { LocalStateOptions } from "./local-state.ts";
export { localStateBackend } from "./local-state.ts";
export type {
  RemoteStateBackend,
  RemoteStateBackendSetting,
  RemoteStateBackendSettings,
} from "./remote-state-backend.ts";
export { textSetting } from "./remote-state-backend.ts";
export type { StateOutput } from "./state-outputs.ts";
export { readStateOutputs } from "./state-outputs.ts";
