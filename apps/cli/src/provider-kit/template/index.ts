export { projectFiles } from "./project-files.ts";
export type { TemplateNames } from "./template-names.ts";
