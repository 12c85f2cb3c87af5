export type { RfsErrorBody, RfsFailure } from "./error-body.ts";
export { rfsFailure } from "./error-body.ts";
export type { RfsOptions } from "./rfs-plugin.ts";
export { rfsPlugin } from "./rfs-plugin.ts";
