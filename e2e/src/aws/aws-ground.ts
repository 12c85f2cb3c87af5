import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestContext } from "vitest";
import { Moto } from "./moto.ts";

const run = promisify(execFile);
const MIRROR = process.env["TEST_AWS_MIRROR"] ?? "/opt/tf-plugins";
const PROVIDER = "registry.terraform.io/hashicorp/aws/5.100.0";
const LIMIT_MS = 5 * 60_000;

const RC = `
provider_installation {
  filesystem_mirror {
    path    = "${MIRROR}"
    include = ["registry.terraform.io/hashicorp/aws"]
  }
}
`;

export const TERRAFORM = process.env["TEST_TERRAFORM"] ?? "terraform";

/** How a command ended. */
interface Ended {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** A folder with configurations for the real AWS provider, and a simulation of AWS. */
export class AwsGround implements AsyncDisposable {
  readonly folder: string;
  readonly #moto: Moto;

  private constructor(folder: string, moto: Moto) {
    this.folder = folder;
    this.#moto = moto;
  }

  /** Skips the test with a reason where something is missing on this machine. */
  static async make(ctx: TestContext): Promise<AwsGround> {
    ctx.skip(!existsSync(join(MIRROR, PROVIDER)), `no mirror at ${MIRROR} has ${PROVIDER}`);
    const version = await run(TERRAFORM, ["version"]).catch(() => undefined);
    ctx.skip(version === undefined, `${TERRAFORM} cannot be run on this machine`);
    const moto = await Moto.start();
    if (moto === undefined)
      return ctx.skip("moto_server is not installed: pip install 'moto[server]'");
    const folder = await mkdtemp(join(tmpdir(), "stackwright-aws-"));
    await writeFile(join(folder, "rc"), RC);
    return new AwsGround(folder, moto);
  }

  /** Copies a configuration into a folder, and gives a command that runs there. */
  async command(
    name: string,
    from: string,
    [program = "", ...first]: readonly string[],
  ): Promise<(...words: readonly string[]) => Promise<Ended>> {
    const cwd = join(this.folder, name);
    await mkdir(cwd, { recursive: true });
    await cp(from, cwd, { recursive: true });
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: this.folder,
      TF_CLI_CONFIG_FILE: join(this.folder, "rc"),
      TF_VAR_endpoint: this.#moto.url,
      CHECKPOINT_DISABLE: "1",
      TF_IN_AUTOMATION: "1",
    };
    const options = { cwd, env, timeout: LIMIT_MS, maxBuffer: 64 * 1024 * 1024 };
    return async (...words) =>
      run(program, [...first, ...words], options).then(
        ({ stdout, stderr }) => ({ code: 0, output: stdout, error: stderr }),
        ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
          code,
          output: stdout,
          error: stderr,
        }),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#moto[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}
