export type { FileOptions, FileSingleton, ParseFile } from "./file.ts";
export { watchFile } from "./file.ts";
export type { FolderCollection, FolderOptions, ParseFolderFile } from "./folder.ts";
export { watchFolder } from "./folder.ts";
export type { WatchFilesOptions } from "./rereader.ts";
