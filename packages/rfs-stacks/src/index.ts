export type { RfsStacksErrorCode } from "./errors.ts";
export { RFS_STACKS_ERRORS, RfsStacksError } from "./errors.ts";
export type { PlanPort, RfsPlan, RfsPlanItem } from "./port/plan-port.ts";
export type {
  ContentTarget,
  RfsAccess,
  RfsCaller,
  RfsChange,
  RfsOpenChange,
  RfsPortFailure,
  RfsStacksPort,
} from "./port/rfs-stacks-port.ts";
export type {
  NewRfsStack,
  RfsConfiguration,
  RfsDeployment,
  RfsEvent,
  RfsOutput,
  RfsResource,
  RfsRunPhase,
  RfsStack,
  RfsStackChange,
  RfsTemplateFile,
  StackPort,
} from "./port/stack-port.ts";
export type {
  NewRfsSetOperation,
  NewRfsStackSet,
  RfsInstancePhase,
  RfsOperationPreferences,
  RfsOverrides,
  RfsSetAction,
  RfsSetOperation,
  RfsSetTemplate,
  RfsShare,
  RfsStackInstance,
  RfsStackSet,
  RfsStackSetChange,
  RfsTarget,
  StackSetPort,
} from "./port/stack-set-port.ts";
export type {
  NewRfsTemplateVersion,
  RfsTemplate,
  RfsTemplateVersion,
  TemplatePort,
} from "./port/template-port.ts";
export { rfsStacksPlugin } from "./rfs-stacks-plugin.ts";
export { templateFiles } from "./template/read-template.ts";
