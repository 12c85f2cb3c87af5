export type { StackwrightApiPluginOptions } from "./api-parts.ts";
export { stackwrightApiPlugin } from "./stackwright-api-plugin.ts";
