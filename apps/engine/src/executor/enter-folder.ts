import type { ExecutionJob } from "./execution-job.ts";

/** Makes the folder of a job that of a process, which may have been started before: where it is, and what programs take for its home. */
export function enterFolder(
  { folder }: Pick<ExecutionJob, "folder">,
  { chdir, env }: Pick<NodeJS.Process, "chdir" | "env">,
): void {
  chdir(folder);
  env["HOME"] = folder;
  env["TMPDIR"] = folder;
}
