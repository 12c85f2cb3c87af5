export type { NativeOptions } from "./native-plugin.ts";
export { nativePlugin } from "./native-plugin.ts";
