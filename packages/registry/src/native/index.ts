export type { NativeOptions } from "./native-parts.ts";
export { nativePlugin } from "./native-plugin.ts";
