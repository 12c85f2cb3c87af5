import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type CommandResult, requireCommand, runCommand } from "@stackwright-tools/processes";
import type { Tally } from "./tally.ts";

const LIMIT_MS = 90_000;
const CONFIGURATION = 'resource "terraform_data" "a" {\n  input = "first"\n}\n';

/**
 * Installs the packed command as `npm install --global` does, without a network, and uses it: nothing but the tarball is there, so
 * what the bundle forgot fails here. A run of a server takes its threads, its child processes and its files.
 */
export async function checkInstalledCommand(tarball: string): Promise<Tally> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-installed-"));
  const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const user = new NewUser(scratch.path, path);
  return await use(user, "the installed command", ["npm install", () => user.install(tarball)]);
}

/** Unpacks the archive of the executable and uses it, where the only program on the path is the executable itself. */
export async function checkExecutable(archive: string): Promise<Tally> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-executable-"));
  const user = new NewUser(scratch.path, join(scratch.path, "bin"));
  return await use(user, "the executable", ["unpacking it", () => user.unpack(archive)]);
}

type Step = readonly [what: string, step: () => Promise<void>];

async function use(user: NewUser, name: string, first: Step): Promise<Tally> {
  const failed: string[] = [];
  let passed = 0;
  const steps: readonly Step[] = [
    first,
    ["version", () => user.expects(["version"], /^Stackwright v\d/)],
    ["--help", () => user.expects(["--help"], /\n {2}plan/)],
    ["plan", () => user.expects(["plan"], /1 to add/)],
    ["up", () => user.expects(["up", "--yes"], /1 added/)],
    ["a plan without changes", () => user.expects(["plan"], /No changes/)],
    ["a text in YAML", () => user.expects(["plan", "-var=yaml=a: 1"], /No changes/)],
    ["a run of the server", () => user.runsOnServer()],
  ];
  for (const [what, step] of steps) {
    try {
      await step();
      passed += 1;
    } catch (error) {
      failed.push(`${name}: ${what}: ${error instanceof Error ? error.message : String(error)}`);
      // Without it there is nothing to use.
      if (what === first[0]) break;
    }
  }
  return { passed, failed, skipped: [] };
}

/** A user with nothing but what the path has, and the command. */
class NewUser {
  readonly #home: string;
  readonly #project: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(home: string, path: string) {
    this.#home = home;
    this.#project = join(home, "project");
    this.#env = { PATH: path, HOME: home, NO_COLOR: "1" };
  }

  async install(tarball: string): Promise<void> {
    const words = [
      "install",
      "--global",
      "--prefix",
      this.#home,
      "--offline",
      "--no-audit",
      tarball,
    ];
    const result = await this.#run(["npm", ...words], this.#home);
    if (result.code !== 0) throw new Error(`exit code ${result.code}: ${result.stderr}`);
    await this.#writeProject();
  }

  async unpack(archive: string): Promise<void> {
    const bin = join(this.#home, "bin");
    await mkdir(bin);
    const words = ["--extract", "--file", archive, "--strip-components=2", "--directory", bin];
    await requireCommand(["tar", ...words]);
    await this.#writeProject();
  }

  async #writeProject(): Promise<void> {
    const yaml =
      'variable "yaml" {\n  default = "a: 1"\n}\nlocals {\n  read = yamldecode(var.yaml).a\n}\n';
    const output = 'output "read" {\n  value = local.read\n}\n';
    await mkdir(this.#project);
    await writeFile(join(this.#project, "main.tf"), CONFIGURATION + yaml + output);
  }

  async expects(words: readonly string[], answer: RegExp): Promise<void> {
    const result = await this.#stackwright(words);
    if (result.code !== 0 || !answer.test(result.stdout)) {
      throw new Error(`exit code ${result.code}: ${result.stdout}${result.stderr}`);
    }
  }

  async runsOnServer(): Promise<void> {
    const server = spawn(
      join(this.#home, "bin/stackwright"),
      ["serve", "--port", "0", "--store", "sqlite:store", "--bootstrap-file", "first.json"],
      { cwd: this.#home, env: this.#env, stdio: ["ignore", "pipe", "pipe"] },
    );
    try {
      const address = await addressOf(server);
      const page = await fetch(`${address}/console/`, { signal: AbortSignal.timeout(LIMIT_MS) });
      if (!page.ok) throw new Error(`the console answered ${page.status}`);
      const { token } = JSON.parse(await readFile(join(this.#home, "first.json"), "utf8")) as {
        token: string;
      };
      const words = ["runs", "start", ".", "--server", address, "--stack", "web/a", "--yes"];
      const result = await this.#stackwright(words, { STACKWRIGHT_TOKEN: token });
      if (result.code !== 0) throw new Error(`${result.stdout}${result.stderr}`);
    } finally {
      server.kill("SIGTERM");
      await new Promise((resolve) => {
        if (server.exitCode !== null || server.signalCode !== null) resolve(undefined);
        server.once("close", resolve);
        setTimeout(() => server.kill("SIGKILL"), 20_000).unref();
      });
    }
  }

  async #stackwright(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    return this.#run([join(this.#home, "bin/stackwright"), ...words], this.#project, env);
  }

  async #run(
    words: readonly [string, ...string[]],
    cwd: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    return runCommand(words, { cwd, env: { ...this.#env, ...env }, timeoutMs: LIMIT_MS });
  }
}

async function addressOf(server: ChildProcess): Promise<string> {
  let text = "";
  return new Promise((found, failed) => {
    const collect = (chunk: Buffer): void => {
      text += chunk.toString();
      const match = /The server is at (http:\/\/\S+)/.exec(text);
      if (match?.[1] !== undefined) found(match[1]);
    };
    server.stdout?.on("data", collect);
    server.stderr?.on("data", collect);
    server.once("close", (code) => failed(new Error(`the server ended with ${code}: ${text}`)));
    setTimeout(() => failed(new Error(`the server does not listen: ${text}`)), LIMIT_MS).unref();
  });
}
