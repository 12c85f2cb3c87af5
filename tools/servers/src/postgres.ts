import { randomBytes } from "node:crypto";
import { chownSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { type Account, unprivilegedAccount } from "./account.ts";
import { Guard } from "./guard.ts";
import { ManagedServer, type ServerKind } from "./managed-server.ts";
import { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";
import { runProgram } from "./run-program.ts";
import { createScratchFolder } from "./scratch-folder.ts";
import { logTail, ServerError } from "./server-error.ts";
import { type StartOptions, startWithFreshPorts } from "./start-options.ts";

export interface PostgresOptions extends StartOptions {
  /** @default the oldest installed version */
  readonly installation?: PostgresInstallation;
  /**
   * Server settings (`-c name=value`). Ours are loopback only, no unix socket, and room for 200
   * connections; everything else, `fsync` and `synchronous_commit` included, is PostgreSQL's own
   * default, so that a test of durability tests durability.
   */
  readonly settings?: Readonly<Record<string, string>>;
}

const USER = "stackwright";

/** A standby needs as many as its primary has. */
export const MAX_CONNECTIONS = "200";

/** A PostgreSQL server with an empty database, its superuser known by password. */
export class PostgresServer extends ManagedServer {
  /** `postgres://` URL of the superuser. */
  readonly url: string;
  readonly port: number;
  readonly version: string;
  readonly bin: string;

  /** Use `startPostgres`. */
  constructor(
    kind: ServerKind,
    facts: { readonly url: string; readonly port: number; readonly version: string; bin: string },
  ) {
    super(kind);
    this.url = facts.url;
    this.port = facts.port;
    this.version = facts.version;
    this.bin = facts.bin;
  }
}

/**
 * Makes a database cluster and starts a server on it. As root everything runs as an unprivileged
 * account, which PostgreSQL demands.
 *
 * @throws ServerError `SERVER_NOT_INSTALLED`, `SERVER_START_FAILED`, `SERVER_START_TIMEOUT`
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const installation = options.installation ?? findPostgres()[0];
  if (!installation) {
    throw new ServerError("SERVER_NOT_INSTALLED", "no PostgreSQL: apt-get install postgresql");
  }
  const account = unprivilegedAccount();
  return startWithFreshPorts(async () => {
    const [port] = await freePorts(1);
    const folder = createScratchFolder("postgres", { parent: options.parentFolder, account });
    const guard = new Guard(folder);
    const server = await prepare({ options, installation, account, folder, guard, port: port! });
    try {
      await server.launch();
      await server.ready(options.signal);
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  });
}

async function prepare(to: {
  readonly options: PostgresOptions;
  readonly installation: PostgresInstallation;
  readonly account: Account | undefined;
  readonly folder: string;
  readonly guard: Guard;
  readonly port: number;
}): Promise<PostgresServer> {
  const { options, installation, account, folder, guard, port } = to;
  const dataDir = join(folder, "data");
  const logFile = join(folder, "server.log");
  try {
    const bin = await reachableBin(installation.bin, folder, account);
    const password = randomBytes(12).toString("hex");
    await initialise({ bin, folder, dataDir, logFile, password, account, signal: options.signal });
    const settings = {
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: "",
      max_connections: MAX_CONNECTIONS,
      ...options.settings,
    };
    return new PostgresServer(
      {
        name: `PostgreSQL ${installation.version}`,
        folder,
        dataDir,
        logFile,
        account,
        guard,
        command: join(bin, "postgres"),
        args: [
          "-D",
          dataDir,
          ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
        ],
        // SIGINT: ends the sessions and shuts down cleanly; SIGTERM would wait for the clients.
        stopSignal: "SIGINT",
        isReady: (pid) => isPostmasterReady(dataDir, pid),
        startTimeoutMs: options.startTimeoutMs ?? 60_000,
      },
      {
        url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
        port,
        bin,
        version: installation.version,
      },
    );
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    guard.release();
    throw error;
  }
}

/**
 * Reads what `pg_ctl` waits for as well: line 1 of `postmaster.pid` is the process, line 8 its
 * state. The process counts because a server that was killed leaves its file behind.
 */
export function isPostmasterReady(dataDir: string, pid: number, state = "ready"): boolean {
  try {
    const lines = readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n");
    return Number(lines[0]) === pid && lines[7]?.trim() === state;
  } catch {
    return false;
  }
}

/** A checkout below a private home is closed to other accounts; they get a copy. */
async function reachableBin(
  bin: string,
  folder: string,
  account: Account | undefined,
): Promise<string> {
  if (!account) return bin;
  const seen = await runProgram("test", ["-x", join(bin, "postgres")], { account, cwd: folder });
  if (seen.code === 0) return bin;
  const copy = join(folder, "programs");
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

async function initialise(to: {
  readonly bin: string;
  readonly folder: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly password: string;
  readonly account: Account | undefined;
  readonly signal: AbortSignal | undefined;
}): Promise<void> {
  const passwordFile = join(to.folder, "password");
  writeFileSync(passwordFile, to.password, { mode: 0o600 });
  if (to.account) chownSync(passwordFile, to.account.uid, to.account.gid);
  const { code, output } = await runProgram(
    join(to.bin, "initdb"),
    [
      `--pgdata=${to.dataDir}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      // What the server writes later is synced; the empty cluster itself may be lost.
      "--no-sync",
    ],
    { account: to.account, cwd: to.folder, signal: to.signal },
  );
  writeFileSync(to.logFile, output, { mode: 0o600 });
  rmSync(passwordFile);
  to.signal?.throwIfAborted();
  if (code !== 0) {
    throw new ServerError("SERVER_START_FAILED", `initdb: exit ${code}${logTail(to.logFile)}`);
  }
}
