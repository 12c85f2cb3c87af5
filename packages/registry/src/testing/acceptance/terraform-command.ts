import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a run of the command left behind. */
interface CommandResult {
  readonly exitCode: number;
  /** Both streams, unwrapped: the command breaks lines where it likes. */
  readonly output: string;
}

const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

/** Why the real command cannot be asked here; `undefined` if it can. */
export async function missingTerraform(): Promise<string | undefined> {
  const env = { ...process.env, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: "/dev/null" };
  const { exitCode, output } = await execute(["version", "-json"], tmpdir(), env);
  if (exitCode !== 0) return `${TERRAFORM} cannot be run`;
  const version = /"terraform_version": "([^"]+)"/.exec(output)?.[1] ?? "";
  return version.startsWith("1.11.") ? undefined : `${TERRAFORM} is ${version}, not 1.11`;
}

/** A folder in which the command works, with a configuration of its own. */
export class TerraformFolder implements AsyncDisposable {
  readonly path: string;
  readonly #caFile: string;

  private constructor(path: string, caFile: string) {
    this.path = path;
    this.#caFile = caFile;
  }

  /** @param ca the only authority that the command trusts, in PEM */
  static async create(
    ca: string,
    files: { readonly main: string; readonly rc?: string },
  ): Promise<TerraformFolder> {
    const path = await mkdtemp(join(tmpdir(), "registry-acceptance-"));
    const folder = new TerraformFolder(path, join(path, "ca.pem"));
    await writeFile(folder.#caFile, ca);
    await folder.configure(files);
    return folder;
  }

  /** Replaces the configuration of the folder, of the command, or of both. */
  async configure(files: { readonly main?: string; readonly rc?: string }): Promise<void> {
    await mkdir(join(this.path, "work"), { recursive: true });
    if (files.main !== undefined) await writeFile(join(this.path, "work", "main.tf"), files.main);
    await writeFile(join(this.path, "rc"), files.rc ?? "");
  }

  /** Runs the command; it is killed after 90 seconds. */
  async run(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^TF_|^SSL_CERT_|_proxy$/i.test(name),
    );
    return execute([...args, "-no-color"], join(this.path, "work"), {
      ...Object.fromEntries(kept),
      SSL_CERT_FILE: this.#caFile,
      CHECKPOINT_DISABLE: "1",
      TF_CLI_CONFIG_FILE: join(this.path, "rc"),
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      ...environment,
    });
  }

  /** Forgets what was installed; `locks` also what was locked. */
  async forget(what: "installed" | "locks"): Promise<void> {
    await rm(join(this.path, "work", ".terraform"), { recursive: true, force: true });
    if (what === "locks") {
      await rm(join(this.path, "work", ".terraform.lock.hcl"), { force: true });
    }
  }

  async lockFile(): Promise<string> {
    return readFile(join(this.path, "work", ".terraform.lock.hcl"), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

async function execute(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout: 90_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(TERRAFORM, [...args], options, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      const output = `${stdout}\n${stderr}`.replaceAll(/\s*\n[│╷╵ ]*/g, " ");
      resolve({ exitCode, output });
    });
  });
}
