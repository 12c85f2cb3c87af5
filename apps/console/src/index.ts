export { readConsole } from "./console-files.ts";
export { readHelp } from "./help-files.ts";
export type { SiteFile } from "./site-file.ts";
