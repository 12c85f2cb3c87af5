export type { RfsErrorBody } from "./error-body.ts";
export type { RfsOptions } from "./rfs-plugin.ts";
export { rfsPlugin } from "./rfs-plugin.ts";
