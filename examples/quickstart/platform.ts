import { randomBytes } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { bootstrap } from "@stackwright/engine";
import { describeExit, SupervisedProcess } from "@stackwright/mux/host";

/*
 * What a platform team runs, here on one machine: the local function runtime in place of a function platform, and the
 * server with registry and store. Both are separate processes that end with this one, however it ends.
 */

const folder = import.meta.dirname;
const COMMAND = join(folder, "../../apps/cli/bin/stackwright.mjs");
const PROJECT = "a61dfe3154de42829367056598d5040f";
/** The function that the private provider lives in. */
export const FUNCTION_URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;

/** Something that the reader of the messages can do something about. */
export class StartFailure extends Error {}

interface Ports {
  readonly server: number;
  readonly storage: number;
  readonly functions: number;
}

export interface Platform extends AsyncDisposable {
  readonly serverUrl: string;
  readonly storeAddress: string;
  readonly functionsUrl: string;
  /** Of an operator of the server. */
  readonly token: string;
  /** For `stackwright` in this folder. */
  readonly env: Readonly<Record<string, string>>;
  /** The processes that run. */
  readonly processes: readonly { readonly name: string; readonly pid: number }[];
}

/** The data folder of the example; the server keeps its store in it, too. */
const data = join(folder, ".stackwright");

/** Starts both; rejects with `StartFailure` where that is not possible, and then nothing runs. */
export async function startPlatform(ports: Ports): Promise<Platform> {
  for (const port of Object.values(ports)) await requireFree(port);
  await mkdir(join(data, "logs"), { recursive: true, mode: 0o700 });
  await using processes = new AsyncDisposableStack();

  const key = await platformKey();
  const account = { ...key, projects: [PROJECT] };
  const code = {
    command: [process.execPath, "function.ts"],
    cwd: join(folder, "private"),
    env: { NOTES_FOLDER: join(folder, "notes") },
  };
  await writeSecret("functions.json", {
    accounts: [account],
    functions: [{ urn: FUNCTION_URN, ...code }],
  });
  const functions = processes.use(
    await Service.start("functions", [
      "functions",
      "serve",
      join(data, "functions.json"),
      "--port",
      String(ports.functions),
    ]),
  );
  const functionsUrl = await functions.says(/functions? (?:is|are) at (http:\S+)/);

  const table = join(data, "functions-table.json");
  await writeSecret("functions-table.json", {
    projects: [PROJECT],
    regions: {
      local: { endpoint: functionsUrl, credentials: { file: "platform-key.json" } },
    },
    networks: ["127.0.0.0/8"],
  });
  const store = `sqlite:${join(data, "store")}`;
  const token = await operatorToken(store);
  const server = processes.use(
    await Service.start("server", [
      "serve",
      "--store",
      store,
      "--port",
      String(ports.server),
      "--storage-port",
      String(ports.storage),
      "--functions",
      table,
    ]),
  );
  const serverUrl = await server.says(/The server is at (http:\S+)/);
  const storeAddress = await server.says(/The store is at (stackwright:\S+)/);
  const env = {
    STACKWRIGHT_STORE: storeAddress,
    STACKWRIGHT_SERVER: serverUrl,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_FUNCTIONS: table,
  };
  // For an unmodified `terraform`, which gets private providers from the server, too.
  const settings = join(data, "terraformrc");
  await writeFile(
    settings,
    `host "huawei.com" {
  services = { "providers.v1" = "${serverUrl}/terraform/v1/providers/" }
}
credentials "huawei.com" {
  token = "${token}"
}
`,
    { mode: 0o600 },
  );
  const all = {
    ...env,
    TF_CLI_CONFIG_FILE: settings,
    STACKWRIGHT_ACCESS_KEY: key.accessKey,
    STACKWRIGHT_SECRET_KEY: key.secretKey,
  };
  const lines = Object.entries(all).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  await writeFile(join(data, "env"), lines.join(""), { mode: 0o600 });
  const owned = processes.move();
  return {
    serverUrl,
    storeAddress,
    functionsUrl,
    token,
    env,
    processes: [server, functions].map(({ name, pid }) => ({ name, pid })),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/**
 * The environment without settings of `stackwright`, which may be of another store, or of an earlier start, and without those of Terraform
 * that select another stack, add options, or forbid questions.
 */
export function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        name === "STACKWRIGHT_DEBUG" ||
        !/^(?:STACKWRIGHT_|TF_(?:WORKSPACE|INPUT|CLI_ARGS))/.test(name),
    ),
  );
}

/** A long-running `stackwright` command; what it writes goes to a file of logs. */
class Service implements AsyncDisposable {
  readonly name: string;
  readonly #process: SupervisedProcess;
  readonly #text: () => string;

  private constructor(name: string, child: SupervisedProcess, text: () => string) {
    this.name = name;
    this.#process = child;
    this.#text = text;
  }

  static async start(name: string, args: readonly string[]): Promise<Service> {
    const log = createWriteStream(join(data, "logs", `${name}.log`), { mode: 0o600 });
    let text = "";
    const onOutput = (chunk: Buffer): void => {
      text += text.length < 100_000 ? chunk.toString() : "";
      log.write(chunk);
    };
    const child = await SupervisedProcess.start({
      path: process.execPath,
      args: [COMMAND, ...args],
      cwd: folder,
      env: ownEnvironment(),
      onStdout: onOutput,
      onStderr: onOutput,
    });
    return new Service(name, child, () => text);
  }

  get pid(): number {
    return this.#process.pid ?? this.#process.group;
  }

  /** Waits until it writes something; the first group of the match. */
  async says(pattern: RegExp): Promise<string> {
    // Much of the work of a first start is on the disk, and machines of trials are small.
    const deadline = Date.now() + 180_000;
    for (;;) {
      const found = pattern.exec(this.#text())?.[1];
      if (found !== undefined) return found;
      const { exit } = this.#process;
      if (exit !== undefined || Date.now() > deadline) {
        const why = exit === undefined ? "does not come up" : `ended with ${describeExit(exit)}`;
        const last = this.#text().trim().split("\n").slice(-8).join("\n");
        throw new StartFailure(`The ${this.name} ${why}. It wrote:\n${last}`);
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
  }

  /** Ends in good order, and by force after ten seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.end(10_000);
  }
}

async function requireFree(port: number): Promise<void> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "another process listens there" : String(code);
    throw new StartFailure(
      `Port ${port} of this machine cannot be used: ${why}.\n` +
        "Is `npm start` running already? Otherwise take other ports: npm start -- --port 7500\n" +
        "(that one and the two after it; 0 takes any that are free).",
    );
  }
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

/** The access key of the function platform: made at the first start. */
async function platformKey(): Promise<{ accessKey: string; secretKey: string }> {
  const known = await readJson(join(data, "platform-key.json"));
  if (typeof known?.["accessKey"] === "string" && typeof known["secretKey"] === "string") {
    return { accessKey: known["accessKey"], secretKey: known["secretKey"] };
  }
  const made = {
    accessKey: `AK${randomBytes(9).toString("hex").toUpperCase()}`,
    secretKey: randomBytes(30).toString("base64url"),
  };
  await writeSecret("platform-key.json", made);
  return made;
}

/** The token of an operator: made together with the store, or again where it got lost. */
async function operatorToken(store: string): Promise<string> {
  const path = join(data, "credentials.json");
  if (!existsSync(join(data, "store"))) await rm(path, { force: true });
  const known = await readJson(path);
  if (typeof known?.["token"] === "string") return known["token"];
  const made = await bootstrap({ store }, "default", {
    env: ownEnvironment(),
    evenIfThereAreSome: true,
  });
  await writeSecret("credentials.json", made);
  return made.token;
}

async function readJson(path: string): Promise<Record<string, unknown> | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** In one step, so that an interruption leaves nothing that is half written. */
async function writeSecret(name: string, content: object): Promise<void> {
  const path = join(data, name);
  await writeFile(`${path}.new`, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
