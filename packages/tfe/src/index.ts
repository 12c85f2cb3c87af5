export type { TfeErrorCode } from "./errors.ts";
export { TFE_ERRORS, TfeError } from "./errors.ts";
export { loginPlugin } from "./login/login-plugin.ts";
export { LOGIN_CLIENT, LOGIN_PORTS } from "./login/login-request.ts";
export { escapedText, plainPage, plainPolicy } from "./login/plain-page.ts";
export type { TfeCaller } from "./port/caller.ts";
export type {
  LoginPort,
  TfeBrowserSession,
  TfeSignedIn,
  TfeSignInLink,
} from "./port/login-port.ts";
export type {
  NewTfeRun,
  RunPort,
  TfeLogName,
  TfeLogText,
  TfePlanCounts,
  TfePolicyCheck,
  TfeRun,
  TfeRunPhase,
  TfeUpload,
} from "./port/run-port.ts";
export type { AnnouncedState, StateKey, StatePort, TfeStateVersion } from "./port/state-port.ts";
export type { TfeFailure, TfePort, TfeRefusal } from "./port/tfe-port.ts";
export type {
  NewTfeVariable,
  TfeSetName,
  TfeVariable,
  TfeVariableChange,
  TfeVariableName,
  TfeVariableOwner,
  VariablePort,
} from "./port/variable-port.ts";
export type {
  NewTfeSet,
  SetPlaces,
  TfeSetChange,
  TfeVariableSet,
  VariableSetPort,
} from "./port/variable-set-port.ts";
export type {
  ExecutionMode,
  NewWorkspace,
  TfeWorkspace,
  WorkspaceChange,
  WorkspaceLock,
  WorkspacePort,
  WorkspaceTag,
} from "./port/workspace-port.ts";
export { readAddress, signAddress } from "./signed-address.ts";
export { tfePlugin } from "./tfe-plugin.ts";
export { readShortUlid, workspaceId } from "./workspace-id.ts";
