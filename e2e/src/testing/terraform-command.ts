import { type ChildProcess, execFile, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, type TestContext } from "vitest";
import type { Scratch } from "./scratch.ts";

const LIMIT_MS = 90_000;
const PROGRAM = process.env["TEST_TERRAFORM"] ?? "terraform";

interface Ended {
  readonly code: number;
  readonly text: string;
}

/** The real command in the folder of a scenario. */
export class TerraformCommand {
  readonly #scratch: Scratch;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(scratch: Scratch, env: Readonly<Record<string, string>>) {
    this.#scratch = scratch;
    this.#env = env;
  }

  /** Skips the test where the command cannot be run. */
  static async find(
    context: TestContext,
    scratch: Scratch,
    env: Readonly<Record<string, string>> = {},
  ): Promise<TerraformCommand> {
    const version = await promisify(execFile)(PROGRAM, ["version"]).catch(() => undefined);
    context.skip(version === undefined, `${PROGRAM} cannot be run on this machine`);
    return new TerraformCommand(scratch, env);
  }

  /** Writes the configuration of the command itself. */
  async configures(text: string): Promise<void> {
    await writeFile(this.#scratch.env["TF_CLI_CONFIG_FILE"] ?? "", text);
  }

  async runs(...words: readonly string[]): Promise<Ended> {
    const env = { ...this.#scratch.env, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" };
    const child: ChildProcess = spawn(PROGRAM, [...words], {
      cwd: this.#scratch.work,
      env: { ...env, TF_INPUT: "0", TF_CLI_ARGS: "-no-color", ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LIMIT_MS,
      killSignal: "SIGKILL",
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (part: string) => (text += part));
    }
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve({ code: code ?? -1, text }));
    });
  }

  /** What a command says that has to succeed. */
  async ok(...words: readonly string[]): Promise<string> {
    const { code, text } = await this.runs(...words);
    expect(code, `terraform ${words.join(" ")}\n${text}`).toBe(0);
    return text;
  }
}
