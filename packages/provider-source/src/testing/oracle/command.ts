import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The `terraform` command of this machine, which fixtures are recorded from and compared with. */
export interface Command {
  readonly path: string;
  readonly version: string;
}

/** The releases whose behaviour this package claims to have. */
const KNOWN_RELEASES = /^1\.11\./;

/** What a run of the command left behind. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

function execute(
  path: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<CommandResult> {
  return new Promise((settle, fail) => {
    execFile(
      path,
      [...args],
      { ...options, timeout: 90_000, maxBuffer: 256 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== "number") fail(error);
        else settle({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

/**
 * The command named by STACKWRIGHT_TERRAFORM, else the one on PATH; or the reason why there is none
 * to compare with.
 */
export async function findCommand(): Promise<Command | { readonly missing: string }> {
  const path = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";
  try {
    const { stdout } = await execute(path, ["version", "-json"], {
      cwd: tmpdir(),
      env: { ...process.env, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: "/dev/null" },
    });
    const version = String(
      (JSON.parse(stdout) as { terraform_version?: unknown }).terraform_version,
    );
    if (KNOWN_RELEASES.test(version)) return { path, version };
    return { missing: `${path} is ${version}, and this package follows 1.11` };
  } catch (error) {
    return {
      missing: `${path} cannot be run: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

/** A directory for one conversation with the command, removed at the end. */
export class Workspace implements AsyncDisposable {
  readonly root: string;
  readonly #command: Command;

  private constructor(command: Command, root: string) {
    this.#command = command;
    this.root = root;
  }

  static async create(command: Command): Promise<Workspace> {
    const root = await mkdtemp(join(tmpdir(), "provider-source-"));
    await writeFile(join(root, "cli.tfrc"), "");
    return new Workspace(command, root);
  }

  path(...parts: readonly string[]): string {
    return join(this.root, ...parts);
  }

  /** Sets the command's own configuration, such as where providers are installed from. */
  async configure(text: string): Promise<void> {
    await writeFile(this.path("cli.tfrc"), text);
  }

  async run(cwd: string, ...args: readonly string[]): Promise<CommandResult> {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TF_"));
    return execute(this.#command.path, args, {
      cwd,
      env: {
        ...Object.fromEntries(inherited),
        CHECKPOINT_DISABLE: "1",
        TF_IN_AUTOMATION: "1",
        TF_INPUT: "0",
        TF_CLI_CONFIG_FILE: this.path("cli.tfrc"),
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

/** A JSON template that requires providers under the local names `p0`, `p1` and so on. */
export function requirementsTemplate(
  requirements: ReadonlyMap<number, { readonly source: string; readonly version?: string }>,
): string {
  const entries = [...requirements].map(([index, requirement]) => [`p${index}`, requirement]);
  const block = { required_providers: Object.fromEntries(entries) };
  return JSON.stringify({ terraform: block }, undefined, 1);
}

/** Which of the providers of {@link requirementsTemplate} a line of it belongs to. */
export function requirementAtLine(template: string, line: number): number | undefined {
  const lines = template.split("\n");
  for (let at = line - 1; at >= 0; at--) {
    const match = /^\s*"p(\d+)": \{/.exec(lines[at] ?? "");
    if (match !== null) return Number(match[1]);
  }
  return undefined;
}

/** The command's time grows with the square of what one template requires. */
const BATCH = 250;

/** Asks in batches, one after the other; the answers are in the order of the questions. */
export async function inBatches<Q, A>(
  questions: readonly Q[],
  ask: (batch: readonly Q[]) => Promise<readonly A[]>,
): Promise<A[]> {
  const answers: A[] = [];
  for (let at = 0; at < questions.length; at += BATCH) {
    answers.push(...(await ask(questions.slice(at, at + BATCH))));
  }
  return answers;
}
