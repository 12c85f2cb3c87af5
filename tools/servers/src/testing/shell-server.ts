import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Guard } from "../guard.ts";
import { ManagedServer } from "../managed-server.ts";
import { createScratchFolder } from "../scratch-folder.ts";

/** A shell script in the place of a server; it is ready when it has written its pid to the file `ready`. */
export class ShellServer extends ManagedServer {
  readonly folder: string;

  constructor(script: string, options: { readonly startTimeoutMs?: number } = {}) {
    const folder = createScratchFolder("shell");
    super({
      name: "the script",
      folder,
      dataDir: folder,
      logFile: join(folder, "server.log"),
      command: "sh",
      args: ["-c", script],
      stopSignal: "SIGTERM",
      isReady: (pid) => readyFile(folder) === `${pid}\n`,
      startTimeoutMs: options.startTimeoutMs ?? 10_000,
      guard: new Guard(folder),
    });
    this.folder = folder;
  }
}

/** Serves until it is told to stop. */
export const OBEDIENT = "echo $$ > ready; exec sleep 600";

function readyFile(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, "ready"), "utf8");
  } catch {
    return undefined;
  }
}
