import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { FoundExecution } from "./executor.ts";

/** What ran in a container, once it has ended. */
interface ContainerState {
  readonly code: number;
  readonly outOfMemory: boolean;
}

const LABEL = "dev.stackwright.instance";
/** How long the engine may take to answer. */
const ANSWER_MS = 30_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The command line of a container engine: `docker`, `podman`, or one that takes the same arguments. */
export class ContainerCommand {
  readonly #words: readonly [string, ...string[]];
  readonly #instance: string;
  readonly #env: NodeJS.ProcessEnv;

  /** @param instance on all containers that one store and its workers have on an engine */
  constructor(words: readonly [string, ...string[]], instance: string, env: NodeJS.ProcessEnv) {
    this.#words = words;
    this.#instance = instance;
    this.#env = env;
  }

  /** A name that no container had, for the execution of a job: another one of the same job has its own. */
  nameFor(job: string): string {
    return `${job}.${randomBytes(6).toString("hex")}`;
  }

  /** Runs a container, with the standard streams of the process. It stays when it has ended, until it is removed. */
  run(name: string, args: readonly string[]): ChildProcess {
    const label = `${LABEL}=${this.#instance}`;
    const all = ["run", "--interactive", "--name", name, "--label", label, ...args];
    const [program, ...first] = this.#words;
    // In a group of its own: a signal from the terminal is for the worker, which decides what becomes of its steps.
    return spawn(program, [...first, ...all], { detached: true, stdio: "pipe", env: this.#env });
  }

  /** Ends a container and all that is in it. Resolves with false where there is none that runs. */
  async kill(name: string): Promise<boolean> {
    return (await this.#call("kill", name)) !== undefined;
  }

  /** Ends a container where it runs, and removes it. */
  async remove(name: string): Promise<void> {
    await this.#call("rm", "--force", "--volumes", name);
  }

  /** Undefined for a container that does not exist. */
  async state(name: string): Promise<ContainerState | undefined> {
    const form = "{{.State.ExitCode}} {{.State.OOMKilled}}";
    const text = await this.#call("container", "inspect", "--format", form, name);
    const [code = "", killed = ""] = text?.trim().split(" ") ?? [];
    if (!/^[0-9]+$/.test(code)) return undefined;
    return { code: Number(code), outOfMemory: killed === "true" };
  }

  /** The containers of the instance, also those that have ended. */
  async list(): Promise<readonly FoundExecution[]> {
    const filter = `label=${LABEL}=${this.#instance}`;
    const text = await this.#call("ps", "--all", "--filter", filter, "--format", "{{.Names}}");
    const ids = (text ?? "").split("\n").map((line) => line.trim());
    return ids.flatMap((id) => (id === "" ? [] : [{ id, name: id.slice(0, id.lastIndexOf(".")) }]));
  }

  /** What a command printed; undefined where it failed. */
  async #call(...args: readonly string[]): Promise<string | undefined> {
    const [program, ...first] = this.#words;
    const options = { timeout: ANSWER_MS, maxBuffer: MAX_ANSWER_BYTES, env: this.#env };
    return new Promise((resolve) => {
      execFile(program, [...first, ...args], options, (error, text) => {
        resolve(error === null ? text : undefined);
      });
    });
  }
}
