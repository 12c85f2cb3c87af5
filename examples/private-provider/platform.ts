import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { freePorts } from "@stackwright/base/free-ports";

/*
 * What a platform team runs, as processes of this machine: a function platform, and a server with registry and store.
 * The READMEs of the examples do the same by hand.
 */

const COMMAND = join(import.meta.dirname, "../../apps/cli/bin/stackwright.mjs");
const REGISTER = join(import.meta.dirname, "register.ts");
const PROJECT = "a61dfe3154de42829367056598d5040f";
export const urnOf = (name: string): string =>
  `urn:fss:local:${PROJECT}:function:default:${name}:latest`;

export interface FunctionRow {
  readonly urn: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly concurrency?: number;
}

export interface Platform extends AsyncDisposable {
  /** Runs `stackwright` in a folder, with the store of the server; gives what it wrote. */
  stackwright(folder: string, ...args: readonly string[]): Promise<string>;
  /** Registers a version of a private provider. */
  register(name: string, version: string, urn: string): Promise<string>;
}

export interface PlatformOptions {
  /** For store, credentials and keys. */
  readonly folder: string;
  readonly functions: readonly FunctionRow[];
  /** Further variables of the command. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts both, and waits until they listen. Disposing ends them. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { folder, functions } = options;
  await mkdir(folder, { recursive: true });
  await using processes = new AsyncDisposableStack();
  const start = async (args: readonly string[], ready: RegExp): Promise<string> => {
    const { child, url } = await startCommand(folder, args, ready);
    processes.defer(async () => stop(child));
    return url;
  };

  const [functionsPort, port, storagePort] = await freePorts(3);
  await writeFile(join(folder, "functions.json"), JSON.stringify({ functions }));
  const endpoint = await start(
    ["functions", "serve", "functions.json", "--port", `${functionsPort}`],
    /functions? (?:is|are) at (\S+)/,
  );

  // The function targets. The local function runtime requires no access key; a real platform requires its own.
  await mkdir(join(folder, "work"));
  await writeFile(join(folder, "work/platform-key.json"), '{"accessKey":"any","secretKey":"any"}');
  const table = await readFile(join(import.meta.dirname, "table.json"), "utf8");
  await writeFile(join(folder, "table.json"), table.replace("http://127.0.0.1:9000", endpoint));
  const url = await start(
    `serve --store sqlite:store --functions table.json --port ${port} --storage-port ${storagePort}
      --bootstrap-file credentials.json`.split(/\s+/),
    /The server is at (\S+)/,
  );
  const credentials = join(folder, "credentials.json");
  const { token } = JSON.parse(await readFile(credentials, "utf8")) as { readonly token: string };

  const owned = processes.move();
  return {
    stackwright: async (cwd, ...args) =>
      run(cwd, [COMMAND, ...args], {
        STACKWRIGHT_STORE: `stackwright://127.0.0.1:${storagePort}`,
        STACKWRIGHT_TOKEN: token,
        STACKWRIGHT_FUNCTIONS: join(folder, "table.json"),
        STACKWRIGHT_DIR: join(folder, "command"),
        ...options.env,
      }),
    register: async (name, version, urn) =>
      run(folder, [REGISTER, url, credentials, name, version, urn]),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

async function run(
  cwd: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = { cwd, env: { ...process.env, NO_COLOR: "1", ...env }, timeout: 100_000 };
  try {
    return (await promisify(execFile)(process.execPath, words, options)).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${words.slice(1).join(" ")}:\n${stdout}${stderr}`, { cause: error });
  }
}

async function startCommand(cwd: string, args: readonly string[], ready: RegExp) {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd, stdio: "pipe" });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        text = `${text}${String(chunk)}`.slice(-10_000);
        const found = ready.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
    }
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}:\n${text}`)));
  });
  return { child, url };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  await once(child, "exit");
}
