export type {
  FunctionCode,
  FunctionDefinition,
  InstanceRequest,
  InstanceResponse,
} from "./function-definition.ts";
export type {
  FunctionsAccount,
  FunctionsServer,
  FunctionsServerOptions,
} from "./functions-server.ts";
export { serveFunctions } from "./functions-server.ts";
