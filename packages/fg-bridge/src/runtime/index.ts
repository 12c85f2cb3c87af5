export type {
  FunctionCode,
  InstanceRequest,
  InstanceResponse,
  RuntimeFunction,
} from "./function-definition.ts";
export type { FunctionsFile } from "./functions-file.ts";
export { readFunctionsFile } from "./functions-file.ts";
export type {
  FunctionsAccount,
  FunctionsServer,
  FunctionsServerOptions,
} from "./functions-server.ts";
export { serveFunctions } from "./functions-server.ts";
export type { FunctionsWatch, FunctionsWatchEvents } from "./watch-functions.ts";
export { watchFunctions } from "./watch-functions.ts";
