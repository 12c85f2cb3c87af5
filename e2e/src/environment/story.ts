import { randomBytes } from "node:crypto";
import { cp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CliProcess, type CliResult, cli, startCli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import type { Environment } from "./environment.ts";

/**
 * One scenario in a shared environment: a private provider and a stack with unique names, and the folders of their
 * users. Disposing proves that no process of the scenario is left.
 */
export class Story implements AsyncDisposable {
  readonly environment: Environment;
  /** Name of the private provider, and the beginning of the names of its notes. */
  readonly provider: string;
  readonly scratch: Scratch;
  readonly #running: CliProcess[] = [];
  readonly #key = randomBytes(32).toString("base64");

  private constructor(environment: Environment, scratch: Scratch) {
    this.environment = environment;
    this.scratch = scratch;
    this.provider = `notes-${randomBytes(4).toString("hex")}`;
  }

  static async begin(environment: Environment): Promise<Story> {
    const scratch = await Scratch.make();
    await scratch.installGateProvider();
    return new Story(environment, scratch);
  }

  /** Registers a version of the provider through the RFS API; the first one with the provider itself. */
  async publish(release: 1 | 2, isFirst = release === 1): Promise<Response> {
    const path = isFirst ? "" : `/${this.provider}/versions`;
    return this.environment.server.rfs("POST", `/v1/private-providers${path}`, {
      ...(isFirst && { provider_name: this.provider }),
      provider_version: `${release}.0.0`,
      function_graph_urn: this.environment.urnOf(release),
    });
  }

  /** Deletes the provider, or a version of it. */
  async delete(version?: string): Promise<Response> {
    const path = version === undefined ? "" : `/versions/${version}`;
    return this.environment.server.rfs("DELETE", `/v1/private-providers/${this.provider}${path}`);
  }

  /** The versions that stacks use, as the server knows them. */
  async uses(): Promise<readonly string[]> {
    const path = `/private-providers/${this.provider}/uses`;
    const found = (await this.environment.server.own("GET", path)) as {
      readonly uses: readonly { readonly version: string }[];
    };
    return found.uses.map(({ version }) => version);
  }

  /** Names of the existing notes of this scenario, without their common prefix. */
  async notes(): Promise<readonly string[]> {
    const prefix = `${this.provider}-`;
    return (await this.environment.notes())
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length))
      .toSorted();
  }

  /** A user with a separate token, in the folder of the scenario. */
  async person(): Promise<Person> {
    const { token } = (await this.environment.server.own("POST", "/tokens", {
      roles: ["operator", "worker"],
      description: "a user of a scenario",
    })) as { readonly token: string };
    const env = {
      STACKWRIGHT_STORE: this.environment.store,
      STACKWRIGHT_TOKEN: token,
      STACKWRIGHT_FUNCTIONS: this.environment.functionsTable,
      STACKWRIGHT_STACK: this.provider,
      // Users who share a stack share the key of its secrets.
      STACKWRIGHT_KEY: this.#key,
    };
    return new Person(this.scratch, this.scratch.work, env, (started) =>
      this.#running.push(started),
    );
  }

  /** Who administrates the server, with commands that call it. */
  administrator(): Person {
    const { url, credentials } = this.environment.server;
    const env = { STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: credentials.token };
    return new Person(this.scratch, this.scratch.work, env, (started) =>
      this.#running.push(started),
    );
  }

  /** Another user of the same stack: the configuration so far, in another folder, with another token. */
  async secondPerson(): Promise<Person> {
    const { scratch } = this;
    const folder = join(scratch.folder, "other person");
    await cp(scratch.work, folder, { recursive: true });
    // The files behind the provider of the gates are the same.
    await symlink(scratch.site, join(folder, "site"));
    return (await this.person()).in(folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const started of this.#running) {
      if (started.hasEnded) continue;
      started.signal("SIGKILL");
      await started.end();
    }
    await this.scratch[Symbol.asyncDispose]();
  }
}

/** Who runs the command in a folder. */
class Person {
  readonly folder: string;
  readonly #scratch: Scratch;
  readonly #env: Readonly<Record<string, string>>;
  readonly #started: (started: CliProcess) => void;

  constructor(
    scratch: Scratch,
    folder: string,
    env: Readonly<Record<string, string>>,
    started: (started: CliProcess) => void,
  ) {
    this.#scratch = scratch;
    this.folder = folder;
    this.#env = env;
    this.#started = started;
  }

  in(folder: string): Person {
    return new Person(this.#scratch, folder, this.#env, this.#started);
  }

  async configures(text: string): Promise<void> {
    await writeFile(join(this.folder, "main.tf"), text);
  }

  async runs(...words: readonly string[]): Promise<CliResult> {
    return cli(this.#scratch, words, { cwd: this.folder, env: this.#env });
  }

  starts(...words: readonly string[]): CliProcess {
    const started = startCli(this.#scratch, words, { cwd: this.folder, env: this.#env });
    this.#started(started);
    return started;
  }

  /** What the stack has on record, as tools read it. */
  async recorded(): Promise<readonly RecordedResource[]> {
    const { output, error } = await this.runs("show", "--json");
    if (output === "") throw new Error(error);
    const state = JSON.parse(output) as {
      readonly values?: { readonly root_module?: { readonly resources?: RecordedResource[] } };
    };
    return state.values?.root_module?.resources ?? [];
  }
}

interface RecordedResource {
  readonly address: string;
  readonly schema_version: number;
  readonly values: Readonly<Record<string, unknown>>;
}
