import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * The reference command for live comparison: what `STACKWRIGHT_TERRAFORM` names, or `terraform` on the path; a text
 * says why there is none.
 */
export function findTerraform(): { readonly command: string } | { readonly absent: string } {
  const command = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";
  const { status, stdout } = spawnSync(command, ["version", "-json"], { encoding: "utf8" });
  if (status !== 0) return { absent: "the command terraform is not installed" };
  const version = /"terraform_version":\s*"([^"]+)"/.exec(stdout)?.[1];
  if (version?.startsWith("1.11.") === true) return { command };
  return { absent: `terraform ${version} is not the recorded 1.11` };
}

interface TerraformFolderOptions {
  readonly command: string;
  /** Files by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** Folders of provider programs by source address, used in place of installed ones. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Further variables of the command's environment. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A configuration in a folder of its own, and the command in it, cut off from the settings of the user. */
export class TerraformFolder implements AsyncDisposable {
  readonly path: string;
  readonly #command: string;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(path: string, { command, environment = {} }: TerraformFolderOptions) {
    this.path = path;
    this.#command = command;
    this.#environment = environment;
  }

  static async create(options: TerraformFolderOptions): Promise<TerraformFolder> {
    const path = await mkdtemp(join(tmpdir(), "terraform-"));
    const folder = new TerraformFolder(path, options);
    const overrides = Object.entries(options.overrides ?? {}).map(
      ([source, program]) => `    ${JSON.stringify(source)} = ${JSON.stringify(program)}\n`,
    );
    const settings = `provider_installation {\n  dev_overrides {\n${overrides.join("")}  }\n  direct {}\n}\n`;
    await folder.write({ ...options.files, "cli.tfrc": settings });
    return folder;
  }

  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.path, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
    }
  }

  /** What the command prints; a failure is thrown with what it printed. */
  async run(...args: readonly string[]): Promise<string> {
    const { PATH = "", HOME = "" } = process.env;
    const env = {
      PATH,
      HOME,
      TF_CLI_CONFIG_FILE: join(this.path, "cli.tfrc"),
      CHECKPOINT_DISABLE: "1",
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      ...this.#environment,
    };
    const options = { cwd: this.path, env, maxBuffer: 256 * 1024 * 1024 };
    const { stdout } = await run(this.#command, [...args], options);
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
