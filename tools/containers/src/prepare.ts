import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Ports of this machine. */
export interface Ports {
  readonly server: number;
  readonly storage: number;
  readonly functions: number;
}

export const DEFAULT_PORTS: Ports = { server: 7400, storage: 7420, functions: 9000 };

export interface PrepareOptions {
  /** For the secrets; only its owner may enter it. */
  readonly directory: string;
  readonly ports: Ports;
  readonly region: string;
  /** Projects whose functions the server calls. */
  readonly projects: readonly string[];
  /** Further variables of `e2e/compose.yaml`. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Makes the secrets that `e2e/compose.yaml` asks for, where there are none yet, and the file of its variables, `env`. A
 * database knows the password that it was made with, so an existing secret is never replaced.
 */
export async function prepare(options: PrepareOptions): Promise<void> {
  const { directory, ports, region, projects } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  // No secret: Git repositories that the server may connect.
  const repositories = join(directory, "repositories");
  await mkdir(repositories, { recursive: true });
  await chmod(repositories, 0o755);

  const password = await keep(directory, "postgres-password", secret);
  await keep(directory, "server-key", () => randomBytes(32).toString("base64"));
  const key = await keep(directory, "platform-key.json", () =>
    JSON.stringify({ accessKey: secret().slice(0, 20), secretKey: secret() }),
  );
  await putJson(directory, "server.json", {
    store: `postgres://stackwright:${password}@postgres:5432/stackwright`,
    // What the compose file mounts there.
    vcsFolders: ["/srv/repositories"],
  });
  const account = { ...(JSON.parse(key) as object), projects };
  await putJson(directory, "platform-accounts.json", { accounts: [account] });

  // No secret: where functions are called, for the server and for engines of this machine.
  await putJson(directory, "functions-table.json", {
    region,
    projects,
    regions: {
      [region]: {
        endpoint: `http://127.0.0.1:${ports.functions}`,
        credentials: { file: "platform-key.json" },
      },
    },
    networks: ["127.0.0.0/8"],
  });
  const variables = {
    STACKWRIGHT_SECRETS: directory,
    STACKWRIGHT_PORT: ports.server,
    STACKWRIGHT_STORAGE_PORT: ports.storage,
    STACKWRIGHT_FUNCTIONS_PORT: ports.functions,
    STACKWRIGHT_REGION: region,
    ...options.variables,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await put(directory, "env", lines.join(""));
}

/** Letters and digits alone, so that it can be part of an address. */
function secret(): string {
  return randomBytes(20).toString("hex");
}

/**
 * The files are readable by all users, in a folder that only their owner can enter: containers run under different user
 * ids, and the engine mounts a file unchanged.
 */
const READABLE = 0o644;

async function keep(directory: string, name: string, make: () => string): Promise<string> {
  const path = join(directory, name);
  try {
    await writeFile(path, make(), { flag: "wx" });
    await chmod(path, READABLE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readFile(path, "utf8");
}

async function put(directory: string, name: string, text: string): Promise<void> {
  const path = join(directory, name);
  await writeFile(path, text);
  await chmod(path, READABLE);
}

async function putJson(directory: string, name: string, value: object): Promise<void> {
  await put(directory, name, JSON.stringify(value));
}
