import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Makes an empty bare repository that everybody may read. */
export async function initRepository(folder: string): Promise<void> {
  const words = ["init", "--quiet", "--bare", "--initial-branch=main", folder];
  const env = {
    PATH: process.env["PATH"],
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
  await promisify(execFile)("git", words, { env });
}
