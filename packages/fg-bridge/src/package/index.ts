export { functionFiles } from "./function-files.ts";
export type { FunctionManifest, FunctionRun, PackagedSchema } from "./function-manifest.ts";
export { FUNCTION_MANIFEST } from "./function-manifest.ts";
export type { ElfMachine, FunctionPlatform, FunctionPlatformName } from "./function-platform.ts";
export {
  FUNCTION_PLATFORMS,
  FUNCTION_START,
  isFunctionPlatformName,
  programProblem,
  sizeProblem,
} from "./function-platform.ts";
export { readPackagedSchema } from "./packaged-schema.ts";
export { loadFunctionStart } from "./start-program.ts";
