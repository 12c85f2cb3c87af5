export type { BuildFailure, BuildFailureReason } from "./build-failure.ts";
export type { BuildResult } from "./build-result.ts";
export { type BuildOptions, buildTool, buildTools } from "./build-tool.ts";
export { cacheFolder } from "./cache-folder.ts";
export { findGo, type GoToolchain } from "./go-toolchain.ts";
export {
  discoverTools,
  type Tool,
  ToolDefinitionError,
  toolsFolder,
  toolVariable,
} from "./tool.ts";
