import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Logger, silentLogger } from "@stackwright/base/logger";
import { removeWorkerFolder } from "./unstored-states.ts";

/** A worker's folder, with mode 0700. Disposing removes it. */
interface WorkerFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes a folder for one worker of this process, and removes those that killed workers of this machine left. The name of a folder
 * has machine and process: one of another machine, or of a process that lives, stays. A state in one that is not stored is kept.
 */
export async function openWorkerFolder(
  directory: string,
  logger: Logger = silentLogger,
): Promise<WorkerFolder> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const machine = hostname().replaceAll(/[^0-9A-Za-z]/g, "_");
  for (const name of await readdir(directory)) {
    const [, owner, pid] = /^w-(\w+)-([1-9][0-9]{0,8})-\w+$/.exec(name) ?? [];
    if (owner !== machine || pid === undefined || isAlive(Number(pid))) continue;
    await removeWorkerFolder({ directory, logger }, join(directory, name));
  }
  const path = await mkdtemp(join(directory, `w-${machine}-${process.pid}-`));
  return {
    path,
    [Symbol.asyncDispose]: async () => removeWorkerFolder({ directory, logger }, path),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
