import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { freePorts } from "@stackwright/base/free-ports";
import { packTarball } from "@stackwright/provider-source";
import { CliProcess, type CliResult } from "../testing/cli.ts";
import type { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";

/** A program and its first words, of this release or a former one. */
type Command = readonly [string, ...string[]];

/** Where a server is found, whichever release is there. */
export interface ServerPlace {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly storagePort: number;
}

/** A server or a worker that runs. */
export interface Member {
  readonly process: CliProcess;
  /** Asks it to end, and waits until it did. */
  stop(): Promise<CliResult>;
}

const END_MS = 180_000;
const READY_MS = 180_000;
const PROJECT = "default";

/** Servers and workers of one store, each of a release that the caller chooses, with the gate provider. */
export class Fleet {
  readonly scratch: Scratch;
  readonly store: string;
  #token: string;

  /** `token` is that of a store which has one already. */
  constructor(scratch: Scratch, store: string, token = "") {
    this.scratch = scratch;
    this.store = store;
    this.#token = token;
  }

  /** Prepares key, provider and first credentials; the store is made by this command. */
  async begin(command: Command): Promise<void> {
    const { folder } = this.scratch;
    await writeFile(join(folder, "key"), randomBytes(32).toString("base64"), { mode: 0o600 });
    const provider = join(folder, "provider");
    await mkdir(provider);
    const program = join(provider, "terraform-provider-gate");
    const main = join(import.meta.dirname, "../testing/provider/main.ts");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(program, 0o755);
    const overrides = `dev_overrides { "example.com/e2e/gate" = ${JSON.stringify(provider)} }`;
    await writeFile(join(folder, "rc"), `provider_installation {\n${overrides}\ndirect {}\n}\n`);
    const made = await this.run(command, ["bootstrap", "--again", ...this.storeWords()]);
    if (made.code !== 0) throw new Error(`no credentials: ${made.output}${made.error}`);
    this.#token = (JSON.parse(made.output) as { readonly token: string }).token;
  }

  /** The same key and credentials, on another store that was restored from this one. */
  on(store: string): Fleet {
    return new Fleet(this.scratch, store, this.#token);
  }

  get token(): string {
    return this.#token;
  }

  /** Addresses for servers that follow one another there. */
  async places(count: number): Promise<readonly ServerPlace[]> {
    const ports = await freePorts(2 * count);
    return Array.from({ length: count }, (_, index) => {
      const [port = 0, storagePort = 0] = ports.slice(2 * index);
      return { name: `s${index + 1}`, url: `http://127.0.0.1:${port}`, port, storagePort };
    });
  }

  /** Starts a server, and waits until it is ready. */
  async server(
    command: Command,
    { name, url, port, storagePort }: ServerPlace,
    more: readonly string[] = ["--executor", "none"],
  ): Promise<Member> {
    const words = [
      "serve",
      ...this.storeWords(),
      `--port=${port}`,
      `--storage-port=${storagePort}`,
      ...more,
    ];
    const started = this.start(command, words);
    await waitFor(
      `the server ${name} to be ready`,
      async () => {
        if (started.hasEnded) throw new Error(`the server ${name} ended:\n${started.text}`);
        return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok;
      },
      { limitMs: READY_MS, seen: () => started.text },
    );
    return this.#member(started);
  }

  /** Starts a worker that knows several servers. */
  worker(command: Command, servers: readonly ServerPlace[], name: string): Member {
    const words = [
      "worker",
      `--server=${servers.map(({ url }) => url).join(",")}`,
      `--directory=${join(this.scratch.folder, name)}`,
      "--capacity=2",
    ];
    return this.#member(this.start(command, words, { STACKWRIGHT_TOKEN: this.#token }));
  }

  /** Calls the API of a server. Rejects where it does not succeed. */
  async call(
    { url }: ServerPlace,
    path: string,
    body?: object | Uint8Array<ArrayBuffer>,
    method = body === undefined ? "GET" : "POST",
  ): Promise<Record<string, unknown>> {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${url}/api/v1/projects/${PROJECT}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
    return (said === "" ? {} : JSON.parse(said)) as Record<string, unknown>;
  }

  /** Requests a run of a stack with one file of configuration; gives the path of the run. */
  async request(
    place: ServerPlace,
    stack: string,
    configuration: string,
    options: object = { auto_apply: true },
  ): Promise<string> {
    const archive = await archiveOf(configuration);
    const { digest } = await this.call(place, `/stacks/${stack}/configurations`, archive);
    const body = { configuration: digest, ...options };
    const { id } = await this.call(place, `/stacks/${stack}/runs`, body);
    return `/stacks/${stack}/runs/${String(id)}`;
  }

  /** Waits until a run has a phase. */
  async reaches(place: ServerPlace, run: string, phase: RegExp): Promise<void> {
    let seen = "";
    await waitFor(
      `the run to be ${phase.source}`,
      async () => {
        const shown = await this.call(place, run).catch((error: unknown) => ({
          phase: String(error),
        }));
        seen = JSON.stringify(shown);
        return phase.test(String(shown["phase"]));
      },
      { limitMs: 180_000, seen: () => seen },
    );
  }

  /** Runs a command to its end. */
  async run(command: Command, words: readonly string[]): Promise<CliResult> {
    return this.start(command, words).end();
  }

  start(
    [program, ...first]: Command,
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): CliProcess {
    // The programs of npm look for Node on the path.
    const path = [dirname(process.execPath), this.scratch.env["PATH"] ?? ""].join(delimiter);
    const child = spawn(program, [...first, ...words], {
      cwd: this.scratch.work,
      env: { ...this.scratch.env, ...env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new CliProcess(child);
  }

  /** Where the store is, and the key of its servers. */
  storeWords(): readonly string[] {
    return ["--store", this.store, "--key-file", join(this.scratch.folder, "key")];
  }

  #member(process: CliProcess): Member {
    return {
      process,
      stop: async () => {
        process.signal("SIGTERM");
        return process.end(END_MS);
      },
    };
  }
}

/** A configuration of one file, as it is uploaded. */
async function archiveOf(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const content = Buffer.from(text);
  const file = {
    path: "main.tf",
    size: content.byteLength,
    executable: false,
    content: async function* () {
      yield await Promise.resolve(content);
    },
  };
  return Uint8Array.from(await buffer(packTarball([file])));
}
