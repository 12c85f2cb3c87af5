import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandResult, runCommand } from "@stackwright-tools/processes";
import { type Images, imagesOf } from "./build-images.ts";
import { ComposeProject } from "./compose-project.ts";
import type { Docker } from "./docker.ts";
import { documentedCommands } from "./documented-commands.ts";
import { freePorts } from "./free-ports.ts";
import type { Ports } from "./prepare.ts";
import type { RunningProject } from "./running-project.ts";
import { type BootstrapCredentials, ServerClient } from "./server-client.ts";

interface TrialWorldOptions {
  readonly docker: Docker;
  /** Of the repository. */
  readonly root: string;
  /** Of the images. */
  readonly tag: string;
  readonly signal: AbortSignal;
}

/** What `STACKWRIGHT_FUNCTIONS_CODE` and its file hold: the functions of the example, and of the scenarios. */
const FUNCTIONS = [
  { folder: "example", code: "examples/private-provider", file: "e2e/compose/functions.json" },
  {
    folder: "scenarios",
    code: "e2e/src/scenarios/functions",
    file: "e2e/src/scenarios/functions/functions.json",
    env: { NOTES_FOLDER: "/var/lib/stackwright/notes" },
  },
];

/** A project of `e2e/compose.yaml` with names, ports and secrets of its own, and what is done with it from outside. */
export class TrialWorld implements AsyncDisposable {
  readonly root: string;
  readonly docker: Docker;
  readonly images: Images;
  /** For what the command keeps. */
  readonly folder: string;
  readonly ports: Ports;
  readonly project: ComposeProject;
  readonly running: RunningProject;
  readonly signal: AbortSignal;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    { root, docker, tag, signal }: TrialWorldOptions,
    folder: string,
    ports: Ports,
    resources: AsyncDisposableStack,
  ) {
    this.root = root;
    this.docker = docker;
    this.images = imagesOf(tag);
    this.folder = folder;
    this.ports = ports;
    this.signal = signal;
    const secrets = join(folder, "secrets");
    this.running = {
      name: `stackwright-${randomBytes(3).toString("hex")}`,
      file: join(root, "e2e/compose.yaml"),
      envFile: join(secrets, "env"),
      secrets,
      ports,
      dockerHost: docker.env["DOCKER_HOST"],
    };
    this.project = resources.use(new ComposeProject({ docker, signal, ...this.running }));
    this.#resources = resources;
  }

  static async make(options: TrialWorldOptions): Promise<TrialWorld> {
    await using building = new AsyncDisposableStack();
    const { path } = building.use(await mkdtempDisposable(join(tmpdir(), "stackwright-compose-")));
    await mkdir(join(path, "home"));
    const ports = await freePorts();
    return new TrialWorld(options, path, ports, building.move());
  }

  /** What is said in a fenced block of `docs/compose.md`, done to the letter but for names of this trial. */
  async follows(heading: string, block: number): Promise<CommandResult> {
    const page = await readFile(join(this.root, "docs/compose.md"), "utf8");
    const { name, secrets } = this.running;
    const { server, storage, functions } = this.ports;
    const ports = `--port ${server} --storage-port ${storage} --functions-port ${functions}`;
    const script = documentedCommands(page, heading, block, [
      ["main.ts prepare", `main.ts prepare --directory ${secrets} ${ports}`],
      ["docker compose ", `${this.docker.composeCommand.join(" ")} --project-name ${name} `],
      ["./e2e/.compose", secrets],
      ["$PWD/e2e/.compose", secrets],
      ["e2e/.compose", secrets],
      ["127.0.0.1:7400", `127.0.0.1:${server}`],
      ["127.0.0.1:7420", `127.0.0.1:${storage}`],
      ["stackwright up", "stackwright up --yes"],
      // The older compose does not know the word; the trial waits by itself.
      [" --wait", ""],
    ]);
    return this.#shell(script, this.root);
  }

  /**
   * Writes the differences between a trial and an installation into the file of variables: its images, and all
   * functions.
   */
  async setVariables(): Promise<void> {
    const code = join(this.folder, "functions");
    const rows: object[] = [];
    for (const { folder, code: from, file, env } of FUNCTIONS) {
      await cp(join(this.root, from), join(code, folder), {
        recursive: true,
        filter: (path) => !/node_modules|\.stackwright/.test(path),
      });
      const { functions } = JSON.parse(await readFile(join(this.root, file), "utf8")) as {
        readonly functions: readonly { readonly env: object }[];
      };
      for (const row of functions) {
        rows.push({ ...row, cwd: `code/${folder}`, env: { ...row.env, ...env } });
      }
    }
    const file = join(this.folder, "functions.json");
    await writeFile(file, JSON.stringify({ functions: rows }));
    const { images } = this;
    const variables = {
      STACKWRIGHT_POSTGRES_IMAGE: images.postgres,
      STACKWRIGHT_SERVER_IMAGE: images.server,
      STACKWRIGHT_WORKER_IMAGE: images.worker,
      STACKWRIGHT_FUNCTIONS_IMAGE: images.functions,
      // What they were built on: so a build finds every step of it done.
      STACKWRIGHT_NODE_IMAGE: images.node,
      STACKWRIGHT_BUILD_IMAGE: images.build,
      STACKWRIGHT_BUILD_NETWORK: "none",
      STACKWRIGHT_FUNCTIONS_FILE: file,
      STACKWRIGHT_FUNCTIONS_CODE: code,
    };
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(this.running.envFile, lines.join(""), { flag: "a" });
  }

  /** The server as its clients reach it. */
  async server(): Promise<ServerClient> {
    const path = "/var/lib/stackwright/first-credentials.json";
    const text = await this.project.exec("server", "cat", path);
    return new ServerClient(
      `http://127.0.0.1:${this.ports.server}`,
      JSON.parse(text) as BootstrapCredentials,
    );
  }

  /** Runs the command on the template of the example, as the page does. */
  async stackwright(
    { token }: BootstrapCredentials,
    ...words: readonly string[]
  ): Promise<CommandResult> {
    const { secrets } = this.running;
    const script = `export STACKWRIGHT_STORE=stackwright://127.0.0.1:${this.ports.storage}
export STACKWRIGHT_TOKEN=${token}
export STACKWRIGHT_FUNCTIONS=${secrets}/functions-table.json
stackwright ${words.join(" ")}`;
    return this.#shell(script, join(this.root, "examples/private-provider/hcl"));
  }

  /** The addresses that the function of the example has handed out. */
  async takenAddresses(): Promise<readonly string[]> {
    const folder = "/var/lib/stackwright/ipam/10.20.0.0_28";
    const list = `[ ! -d ${folder} ] || ls ${folder}`;
    const text = await this.project.exec("functions", "sh", "-c", list);
    return text.split("\n").filter((line) => line !== "");
  }

  /** Runs a program from the root of the repository. */
  async runs(command: readonly [string, ...string[]]): Promise<CommandResult> {
    return runCommand(command, { cwd: this.root, env: this.docker.env, signal: this.signal });
  }

  /** Runs lines as a user who has the commands of the workspace in the PATH. */
  async #shell(script: string, cwd: string): Promise<CommandResult> {
    const { PATH = "", DOCKER_HOST } = this.docker.env;
    return runCommand(["bash", "-euc", script], {
      cwd,
      timeoutMs: 600_000,
      signal: this.signal,
      env: {
        PATH: `${join(this.root, "node_modules/.bin")}:${PATH}`,
        HOME: join(this.folder, "home"),
        NO_COLOR: "1",
        // What the command keeps in the folder of a template would stay in the repository.
        STACKWRIGHT_DIR: join(this.folder, "home/kept"),
        // BuildKit is a program of its own that may not be installed; both builders read the files.
        DOCKER_BUILDKIT: "0",
        COMPOSE_DOCKER_CLI_BUILD: "0",
        ...(DOCKER_HOST !== undefined && { DOCKER_HOST }),
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
