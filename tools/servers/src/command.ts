import { spawn } from "node:child_process";
import { constants } from "node:os";
import { parseArgs } from "node:util";
import { buildTools, discoverTools } from "@stackwright-tools/go";
import { ensureDebianProgram } from "./ensure-debian-program.ts";
import { ensurePostgres } from "./ensure-postgres.ts";
import { startEtcd } from "./etcd.ts";
import { startKubeApiServer } from "./kube-apiserver.ts";
import type { ManagedServer } from "./managed-server.ts";
import { ensurePackagedPrograms } from "./packaged-programs.ts";
import { startPostgres } from "./postgres.ts";
import { findPostgres } from "./postgres-installation.ts";
import { startStandby } from "./postgres-standby.ts";
import { serveControl } from "./serve.ts";
import { startTestEnvironment } from "./test-environment.ts";

const USAGE = `usage: node tools/servers/src/main.ts <command>

  exec [--servers postgres,etcd|none] [--tools all|required|none|<names>] -- <command> [arguments]
      starts the servers, builds the Go tools (the required ones, when nothing is said), runs the
      command with TEST_* variables that name them all, stops the servers and exits as the command
      did
  serve postgres [--newest] [--standby] [--parent <dir>]
  serve etcd [--members <n>] [--partitions] [--quota-bytes <n>] [--parent <dir>] [--cert <pem> --key <pem> --ca <pem>]
  serve kubernetes [--parent <dir>]
      starts one server or cluster, prints one JSON line that describes it, then obeys lines on
      standard input: kill9 <i>, restart <i>, pause <i>, resume <i>, stop; with --partitions also
      isolate <i>, which cuts a member off the others while clients reach it, and rejoin <i>
  list
      which servers this machine has
  install
      installs the distribution's PostgreSQL, tmux, Chromium and Neovim where they are missing (root,
      apt-get), and into the cache PgBouncer and an SSH server (apt-get), older versions of Node (npm) and a
      simulation of AWS (pip, where a mirror has the provider); exec names these in variables where they are installed

Servers listen on free loopback ports, keep their data in a temporary folder, and end with this
process, also when it is killed.
`;

const OPTIONS = {
  servers: { type: "string" },
  tools: { type: "string" },
  members: { type: "string" },
  partitions: { type: "boolean" },
  "quota-bytes": { type: "string" },
  newest: { type: "boolean" },
  standby: { type: "boolean" },
  parent: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  ca: { type: "string" },
} as const;

const say = (text: string) => process.stderr.write(`servers: ${text}\n`);

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The command line: resolves to the exit code. `warn` receives errors in its use. */
export async function runServersCommand(
  argv: readonly string[],
  warn: (text: string) => void = (text) => process.stderr.write(text),
): Promise<number> {
  const interrupt = new AbortController();
  const stop = (name: NodeJS.Signals) => interrupt.abort(new Interrupted(name));
  for (const name of SIGNALS) process.on(name, stop);
  const [command, ...rest] = argv;
  try {
    switch (command) {
      case "exec":
        return await exec(rest, interrupt.signal);
      case "serve":
        return await serve(rest, interrupt.signal);
      case "list":
        for (const { version, source, bin } of findPostgres()) {
          process.stdout.write(`PostgreSQL ${version} (${source}) ${bin}\n`);
        }
        return 0;
      case "install":
        ensurePackagedPrograms(say);
        // The tests of the console and of the language server skip without them.
        ensureDebianProgram("chromium", say);
        ensureDebianProgram("neovim", say);
        return [ensurePostgres(say) !== undefined, ensureDebianProgram("tmux", say)].includes(false)
          ? 1
          : 0;
      case undefined:
      default:
        warn(USAGE);
        return 2;
    }
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    if (error instanceof UsageError) {
      warn(`${error.message}\n\n${USAGE}`);
      return 2;
    }
    throw error;
  } finally {
    for (const name of SIGNALS) process.removeListener(name, stop);
  }
}

class UsageError extends Error {}

class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }

  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

async function exec(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const end = argv.indexOf("--");
  const command = end < 0 ? [] : argv.slice(end + 1);
  if (command.length === 0) throw new UsageError("exec needs a command after --");
  const { values } = parse(argv.slice(0, end), { servers: true, tools: true });
  const servers = chosenServers(values.servers ?? "postgres,etcd");
  const tools = chosenTools(values.tools ?? "required");
  await using environment = await startTestEnvironment({ servers, tools, signal, say });
  return await runForeground(command, { ...process.env, ...environment.variables }, signal);
}

function chosenServers(text: string): readonly ("postgres" | "etcd")[] {
  const names = text === "none" ? [] : text.split(",");
  return names.map((name) => {
    if (name !== "postgres" && name !== "etcd") throw new UsageError(`no such server: "${name}"`);
    return name;
  });
}

function chosenTools(text: string): readonly string[] | "all" | undefined {
  if (text === "all") return "all";
  if (text === "required") return undefined;
  const names = text === "none" ? [] : text.split(",");
  const known = discoverTools().map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`no such tool: "${unknown}"`);
  return names;
}

function runForeground(
  [command, ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command!, args, { env, stdio: "inherit" });
    const pass = () => {
      const { reason } = signal;
      child.kill(reason instanceof Interrupted ? reason.signal : "SIGTERM");
    };
    signal.addEventListener("abort", pass, { once: true });
    child.once("error", (error) => {
      signal.removeEventListener("abort", pass);
      reject(error);
    });
    child.once("exit", (code, name) => {
      signal.removeEventListener("abort", pass);
      resolve(name === null ? (code ?? 1) : 128 + constants.signals[name]);
    });
  });
}

async function serve(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { values, positionals } = parse(argv, {
    members: true,
    partitions: true,
    "quota-bytes": true,
    newest: true,
    standby: true,
    parent: true,
    cert: true,
    key: true,
    ca: true,
  });
  await using stack = new AsyncDisposableStack();
  const parentFolder = values.parent;
  let servers: readonly ManagedServer[];
  let description: object;
  if (positionals[0] === "postgres") {
    ensurePostgres(say);
    const installation = findPostgres().at(values.newest ? -1 : 0);
    const server = stack.use(
      await startPostgres({ parentFolder, signal, ...(installation ? { installation } : {}) }),
    );
    const standby = values.standby
      ? stack.use(await startStandby(server, { parentFolder, signal }))
      : undefined;
    servers = standby === undefined ? [server] : [server, standby];
    description = { url: server.url, version: server.version, standbyUrl: standby?.url };
  } else if (positionals[0] === "etcd") {
    const members = Number(values.members ?? 1);
    if (!Number.isInteger(members) || members < 1) throw new UsageError("--members: a number");
    const tls = tlsFiles(values);
    const bin = await builtProgram("etcd", signal);
    if (bin === undefined) return 1;
    const quota = values["quota-bytes"];
    const args = quota === undefined ? [] : [`--quota-backend-bytes=${quota}`];
    const { partitions } = values;
    const cluster = stack.use(
      await startEtcd({ bin, members, args, parentFolder, signal, tls, partitions }),
    );
    servers = cluster.members;
    description = { endpoints: cluster.endpoints };
  } else if (positionals[0] === "kubernetes") {
    const etcdBin = await builtProgram("etcd", signal);
    const bin = await builtProgram("kube-apiserver", signal);
    if (bin === undefined || etcdBin === undefined) return 1;
    const server = stack.use(await startKubeApiServer({ bin, etcdBin, parentFolder, signal }));
    servers = [server];
    const { url, token, config } = server;
    description = { url, token, config };
  } else {
    throw new UsageError("serve needs postgres, etcd or kubernetes");
  }
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(
    JSON.stringify({
      ...description,
      servers: servers.map(({ name, pid, dataDir, logFile }) => ({ name, pid, dataDir, logFile })),
    }),
  );
  await Promise.race([
    serveControl(servers, process.stdin, print),
    new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
  ]);
  process.stdin.destroy();
  return 0;
}

function tlsFiles({ cert, key, ca }: { cert?: string; key?: string; ca?: string }) {
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined || ca === undefined) {
    throw new UsageError("--cert, --key and --ca go together");
  }
  return { cert, key, ca };
}

async function builtProgram(wanted: string, signal: AbortSignal): Promise<string | undefined> {
  const tools = discoverTools().filter(({ name }) => name === wanted);
  const [result] = await buildTools(tools, {
    signal,
    onBuild: ({ name, version }) => say(`building ${name} ${version}`),
  });
  if (result && result.status !== "failed") return result.path;
  say(`${wanted}: not built: ${result?.message ?? `tools/${wanted} is missing`}`);
  return undefined;
}

function parse(
  argv: readonly string[],
  allowed: Readonly<Partial<Record<keyof typeof OPTIONS, true>>>,
) {
  try {
    const parsed = parseArgs({ args: [...argv], allowPositionals: true, options: OPTIONS });
    const odd = Object.keys(parsed.values).find((name) => !Object.hasOwn(allowed, name));
    if (odd !== undefined) throw new Error(`unknown option --${odd}`);
    return parsed;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
