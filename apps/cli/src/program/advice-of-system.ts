/** Calls of the system that write to a folder. */
const WRITES: ReadonlySet<unknown> = new Set([
  "copyfile",
  "link",
  "mkdir",
  "mkdtemp",
  "open",
  "rename",
  "rmdir",
  "symlink",
  "unlink",
  "write",
]);

/** What to do where the system refuses to write; undefined where it refuses something else, such as a port or a program. */
export function adviceOfSystem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!("syscall" in error) || !("code" in error)) return adviceOfSystem(error.cause);
  const { syscall, code } = error;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return "There is no space. Make some, and run the command again: what was completed is kept.";
  }
  if (syscall === "mkdir" && (code === "EEXIST" || code === "ENOTDIR")) {
    return "A file is in the place of a folder. Move it away, and run the command again.";
  }
  // Node says ENOENT where a file system that is only read has no such folder.
  if (code === "ENOENT" && syscall !== "mkdir") return undefined;
  if (!["ENOENT", "EROFS", "EACCES", "EPERM"].includes(String(code))) return undefined;
  if (!WRITES.has(syscall)) return undefined;
  return "The folder has to be writable: state and providers are in .stackwright of the configuration's folder, unless STACKWRIGHT_DIR names another folder, and --store another store.";
}
