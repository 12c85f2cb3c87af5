import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** A worker's folder, with mode 0700. Disposing removes it. */
interface WorkerFolder extends AsyncDisposable {
  readonly path: string;
}

/**
 * Makes a folder for one worker of this process, and removes those that killed workers of this machine left. The name of a folder
 * has machine and process: one of another machine, or of a process that lives, stays.
 */
export async function openWorkerFolder(directory: string): Promise<WorkerFolder> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const machine = hostname().replaceAll(/[^0-9A-Za-z]/g, "_");
  for (const name of await readdir(directory)) {
    const [, owner, pid] = /^w-(\w+)-([1-9][0-9]{0,8})-\w+$/.exec(name) ?? [];
    if (owner !== machine || pid === undefined || isAlive(Number(pid))) continue;
    // Another worker may remove it at the same time.
    await rm(join(directory, name), { recursive: true, force: true, maxRetries: 3 });
  }
  const path = await mkdtemp(join(directory, `w-${machine}-${process.pid}-`));
  return {
    path,
    [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
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
