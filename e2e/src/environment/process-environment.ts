import { mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type BootstrapCredentials,
  freePorts,
  type Ports,
  prepare,
  ServerClient,
} from "@stackwright-tools/containers";
import { installation } from "../installation/installation.ts";
import { type CliProcess, startCli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";
import type { Environment, Service } from "./environment.ts";
import { PROJECT, urnOf } from "./functions.ts";
import { initRepository } from "./init-repository.ts";

const STOP_MS = 30_000;

/**
 * Server and functions as processes on loopback, with the options that the containers have; the store is an embedded
 * one. Disposing proves that they end in order and leave nothing running.
 */
export async function startProcesses(): Promise<Environment> {
  await using building = new AsyncDisposableStack();
  const scratch = building.use(await Scratch.make());
  const secrets = join(scratch.folder, "secrets");
  const ports = await freePorts();
  await prepare({ directory: secrets, ports, region: "local", projects: [PROJECT] });
  const notes = join(scratch.folder, "notes");
  const repositories = join(scratch.folder, "repositories");
  await Promise.all([mkdir(notes), mkdir(repositories)]);
  await writeFunctionsFile(scratch, secrets, notes);

  const services = building.use(new Services(scratch, ports));
  await Promise.all([services.start("functions"), services.start("server")]);
  const first = await readFile(join(scratch.folder, "first.json"), "utf8");
  const owned = building.move();
  return {
    kind: "processes",
    server: new ServerClient(services.urls.server, JSON.parse(first) as BootstrapCredentials),
    store: `stackwright://127.0.0.1:${ports.storage}`,
    functionsTable: join(secrets, "functions-table.json"),
    urnOf: (release) => urnOf(`notes-v${release}`),
    notes: async () => (await readdir(notes)).filter((name) => !name.startsWith(".")),
    readNote: async (name) => readFile(join(notes, name), "utf8"),
    changeNote: async (name, text) => {
      // One that is not there is not made.
      await truncate(join(notes, name));
      await writeFile(join(notes, name), text);
    },
    makeRepository: async (name) => {
      const folder = join(repositories, `${name}.git`);
      await initRepository(folder);
      return { folder, address: pathToFileURL(folder).href };
    },
    stop: async (service) => services.stop(service),
    kill: async (service) => services.kill(service),
    start: async (service) => services.start(service),
    crash: async (service) => {
      // No service manager restarts it here.
      await services.kill(service);
      await services.start(service);
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/** The functions of the scenarios, with the keys of who may call them. */
async function writeFunctionsFile(scratch: Scratch, secrets: string, notes: string) {
  const code = installation().functions;
  const read = async (path: string) => JSON.parse(await readFile(path, "utf8")) as object;
  const { functions } = (await read(join(code, "functions.json"))) as {
    readonly functions: readonly { readonly env: object }[];
  };
  const rows = functions.map((row) => ({
    ...row,
    cwd: code,
    env: { ...row.env, NOTES_FOLDER: notes },
  }));
  const accounts = await read(join(secrets, "platform-accounts.json"));
  await writeFile(
    join(scratch.folder, "functions.json"),
    JSON.stringify({ functions: rows, ...accounts }),
  );
}

class Services implements AsyncDisposable {
  readonly urls: Readonly<Record<Service, string>>;
  readonly #scratch: Scratch;
  readonly #words: Readonly<Record<Service, readonly string[]>>;
  readonly #running = new Map<Service, CliProcess>();

  constructor(scratch: Scratch, { server, storage, functions }: Ports) {
    this.#scratch = scratch;
    this.urls = {
      server: `http://127.0.0.1:${server}`,
      functions: `http://127.0.0.1:${functions}`,
    };
    const file = (...names: string[]) => join(scratch.folder, ...names);
    const serve = {
      store: `sqlite:${file("store")}`,
      "key-file": file("secrets", "server-key"),
      functions: file("secrets", "functions-table.json"),
      "bootstrap-file": file("first.json"),
      port: `${server}`,
      "storage-port": `${storage}`,
      region: "local",
      "vcs-folder": file("repositories"),
    };
    this.#words = {
      server: ["serve", ...Object.entries(serve).map(([name, value]) => `--${name}=${value}`)],
      functions: ["functions", "serve", file("functions.json"), "--port", `${functions}`],
    };
  }

  async start(service: Service): Promise<void> {
    const started = startCli(this.#scratch, this.#words[service]);
    this.#running.set(service, started);
    const path = service === "server" ? "/readyz" : "/";
    await waitFor(
      `the ${service} to be ready`,
      async () => {
        if (started.hasEnded) throw new Error(`the ${service} ended:\n${started.text}`);
        const answer = await fetch(this.urls[service] + path).catch(() => undefined);
        return answer?.ok;
      },
      { seen: () => started.text },
    );
  }

  async stop(service: Service): Promise<void> {
    const { code, error } = await this.#end(service, "SIGTERM");
    if (code !== 0) throw new Error(`the ${service} ended with ${code}:\n${error}`);
  }

  async kill(service: Service): Promise<void> {
    await this.#end(service, "SIGKILL");
  }

  async #end(service: Service, signal: NodeJS.Signals) {
    const running = this.#running.get(service);
    if (running === undefined) throw new Error(`the ${service} does not run`);
    this.#running.delete(service);
    running.signal(signal);
    return running.end(STOP_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The server first: it may be calling a function.
    for (const service of ["server", "functions"] as const) {
      if (this.#running.has(service)) await this.stop(service);
    }
  }
}
