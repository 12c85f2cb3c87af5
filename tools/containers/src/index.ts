export {
  ComposeProject,
  type ComposeProjectOptions,
  type ContainerState,
} from "./compose-project.ts";
export { Docker } from "./docker.ts";
export { freePorts } from "./free-ports.ts";
export { openEngine } from "./open-engine.ts";
export { type Ports, type PrepareOptions, prepare } from "./prepare.ts";
export type { RunningProject } from "./running-project.ts";
export { type BootstrapCredentials, ServerClient } from "./server-client.ts";
