import { rmSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { unprivilegedAccount } from "./account.ts";
import { Guard } from "./guard.ts";
import { isPostmasterReady, MAX_CONNECTIONS, PostgresServer } from "./postgres.ts";
import { runProgram } from "./run-program.ts";
import { createScratchFolder } from "./scratch-folder.ts";
import { ServerError } from "./server-error.ts";
import { type StartOptions, startWithFreshPorts } from "./start-options.ts";

/**
 * Copies a running server and starts the copy as its standby, which follows it and can be promoted.
 *
 * @throws ServerError `SERVER_START_FAILED`, `SERVER_START_TIMEOUT`
 */
export async function startStandby(
  primary: PostgresServer,
  options: StartOptions = {},
): Promise<PostgresServer> {
  return startWithFreshPorts(async () => {
    const account = unprivilegedAccount();
    const [port] = await freePorts(1);
    const folder = createScratchFolder("standby", { parent: options.parentFolder, account });
    const guard = new Guard(folder);
    const dataDir = join(folder, "data");
    const { code, output } = await runProgram(
      join(primary.bin, "pg_basebackup"),
      [
        `--dbname=${primary.url}`,
        `--pgdata=${dataDir}`,
        "--write-recovery-conf",
        "--no-sync",
        "--checkpoint=fast",
      ],
      { account, cwd: folder, signal: options.signal },
    );
    if (code !== 0) {
      rmSync(folder, { recursive: true, force: true });
      guard.release();
      throw new ServerError("SERVER_START_FAILED", `pg_basebackup: exit ${code}: ${output}`);
    }
    const settings = {
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "",
      max_connections: MAX_CONNECTIONS,
    };
    const url = new URL(primary.url);
    url.port = String(port);
    const standby = new PostgresServer(
      {
        name: `PostgreSQL ${primary.version} (standby)`,
        folder,
        dataDir,
        logFile: join(folder, "server.log"),
        account,
        guard,
        command: join(primary.bin, "postgres"),
        args: [
          "-D",
          dataDir,
          ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
        ],
        stopSignal: "SIGINT",
        isReady: (pid) =>
          isPostmasterReady(dataDir, pid, "standby") || isPostmasterReady(dataDir, pid),
        startTimeoutMs: options.startTimeoutMs ?? 60_000,
      },
      { url: url.href, port: Number(port), bin: primary.bin, version: primary.version },
    );
    try {
      await standby.launch();
      await standby.ready(options.signal);
      return standby;
    } catch (error) {
      await standby.stop();
      throw error;
    }
  });
}
