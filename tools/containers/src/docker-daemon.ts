import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runCommand } from "@stackwright-tools/processes";

/**
 * Runs the engine and outlives us by its end: when the pipe from us ends, which `kill -9` of us brings about as well,
 * the engine is asked to stop, which stops its containers, and everything that it stored is removed.
 */
const KEEPER = `
trap '' HUP INT TERM
dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/docker.sock" \
  --bridge none --log-level warn >"$1/log" 2>&1 </dev/null &
engine=$!
echo "$engine" >"$1/engine"
cat >/dev/null
kill -s TERM "$engine" 2>/dev/null
( sleep 45; kill -s KILL "$engine" ) >/dev/null 2>&1 &
late=$!
wait "$engine"
kill "$late" 2>/dev/null
grep -F " $1/" /proc/mounts | cut -d ' ' -f 2 | sort -r | while read -r mount; do umount -l "$mount"; done
rm -rf -- "$1"
`;

const START_MS = 60_000;
/** An engine that does not stop is killed after 45 s; on a busy disk its layers take a while to remove. */
const STOP_MS = 240_000;

/** A Docker engine of our own, with nothing in it and nothing left of it. Needs root and `dockerd`. */
export class DockerDaemon implements AsyncDisposable {
  /** For `DOCKER_HOST`. */
  readonly host: string;
  readonly #end: () => Promise<void>;

  private constructor(host: string, end: () => Promise<void>) {
    this.host = host;
    this.#end = end;
  }

  static async start(): Promise<DockerDaemon> {
    const folder = mkdtempSync(join(tmpdir(), "stackwright-docker-"));
    const keeper = spawn("sh", ["-c", KEEPER, "sh", folder], {
      detached: true,
      cwd: "/",
      stdio: ["pipe", "ignore", "ignore"],
    });
    const gone = once(keeper, "exit");
    const daemon = new DockerDaemon(`unix://${join(folder, "docker.sock")}`, async () => {
      keeper.stdin.end();
      const late = delay(STOP_MS, "late", { ref: false });
      if ((await Promise.race([gone, late])) === "late") {
        throw new Error(`the Docker engine in ${folder} does not stop`);
      }
    });
    // The log shows why an engine ended; the pipe to its keeper is then of no use.
    keeper.stdin.on("error", () => {});
    const deadline = performance.now() + START_MS;
    const env = { ...process.env, DOCKER_HOST: daemon.host };
    while ((await runCommand(["docker", "version"], { env, timeoutMs: 10_000 })).code !== 0) {
      if (performance.now() > deadline || hasEnded(join(folder, "engine"))) {
        const log = readFileSync(join(folder, "log"), "utf8").slice(-2000);
        await daemon[Symbol.asyncDispose]();
        throw new Error(`dockerd did not start:\n${log}`);
      }
      await delay(200);
    }
    return daemon;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}

/** Whether the process that a file names has ended; one that its parent has not waited for yet has no command line. */
function hasEnded(pidFile: string): boolean {
  if (!existsSync(pidFile)) return false;
  const commandLine = `/proc/${readFileSync(pidFile, "utf8").trim()}/cmdline`;
  return !existsSync(commandLine) || readFileSync(commandLine, "utf8") === "";
}
