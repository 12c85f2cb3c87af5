export { folderBytes, withFolderLimit } from "./folder-limit.ts";
export type { ModuleLimits } from "./module-tree.ts";
export type { PackageFetcherOptions, ResolvedPackage } from "./package-fetcher.ts";
export { PackageFetcher } from "./package-fetcher.ts";
