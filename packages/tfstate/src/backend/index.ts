export type { ArgumentValue, ArgumentValues } from "./backend-arguments.ts";
export { BackendArguments } from "./backend-arguments.ts";
export type { CommandBackendOptions } from "./command-backend.ts";
export { commandBackend } from "./command-backend.ts";
export { describeLock, lockIdOf } from "./lock-record.ts";
export type { BackendConfiguration, OpenBackendOptions } from "./open-backend.ts";
export { openBackend, READABLE_BACKENDS } from "./open-backend.ts";
export type { BackendCall, HeldLock, LockRecord, StateBackend } from "./state-backend.ts";
export { DEFAULT_WORKSPACE } from "./state-backend.ts";
