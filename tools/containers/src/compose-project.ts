import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Docker } from "./docker.ts";

/** The arguments of every call of compose. */
export interface ComposeProjectOptions {
  readonly docker: Docker;
  /** Before the names of everything that it makes. */
  readonly name: string;
  readonly file: string;
  readonly envFile: string;
  readonly signal: AbortSignal;
}

/** The inspected part of a container. */
export interface ContainerState {
  readonly user: string;
  readonly readOnly: boolean;
  readonly health: string;
  readonly running: boolean;
  readonly exitCode: number;
  readonly pid: number;
  readonly restarts: number;
  /** What is done when it fails. */
  readonly restartPolicy: string;
  /** Bytes, and processes; 0 where there is no limit. */
  readonly memoryLimit: number;
  readonly processLimit: number;
  readonly canGainPrivileges: boolean;
}

const HEALTHY_MS = 120_000;
const STEP_MS = 120_000;

/** One project of compose. Disposing takes away its containers, networks and volumes. */
export class ComposeProject implements AsyncDisposable {
  readonly #options: ComposeProjectOptions;

  constructor(options: ComposeProjectOptions) {
    this.#options = options;
  }

  /** Runs a command of compose. */
  async run(...words: readonly string[]): Promise<string> {
    const { docker, name, file, envFile, signal } = this.#options;
    const head = ["--project-name", name, "--env-file", envFile, "--file", file];
    return docker.compose([...head, ...words], { timeoutMs: STEP_MS, signal });
  }

  /** Runs a program in a container. */
  async exec(service: string, ...words: readonly string[]): Promise<string> {
    return this.run("exec", "-T", service, ...words);
  }

  async state(service: string): Promise<ContainerState> {
    const id = (await this.run("ps", "--quiet", service)).trim();
    const text = await this.#options.docker.run(["inspect", id]);
    const [found] = JSON.parse(text) as {
      readonly Config: { readonly User: string };
      readonly HostConfig: {
        readonly ReadonlyRootfs: boolean;
        readonly RestartPolicy: { readonly Name: string };
        readonly Memory: number;
        readonly PidsLimit: number | null;
        readonly CapDrop: readonly string[] | null;
        readonly SecurityOpt: readonly string[] | null;
      };
      readonly RestartCount: number;
      readonly State: {
        readonly Running: boolean;
        readonly ExitCode: number;
        readonly Pid: number;
        readonly Health?: { readonly Status: string };
      };
    }[];
    if (found === undefined) throw new Error(`${service} has no container`);
    const { Config, HostConfig, RestartCount, State } = found;
    return {
      user: Config.User,
      readOnly: HostConfig.ReadonlyRootfs,
      health: State.Health?.Status ?? "",
      running: State.Running,
      exitCode: State.ExitCode,
      pid: State.Pid,
      restarts: RestartCount,
      restartPolicy: HostConfig.RestartPolicy.Name,
      memoryLimit: HostConfig.Memory,
      processLimit: HostConfig.PidsLimit ?? 0,
      canGainPrivileges:
        HostConfig.CapDrop?.includes("ALL") !== true ||
        HostConfig.SecurityOpt?.some((option) => option.startsWith("no-new-privileges")) !== true,
    };
  }

  /** Waits until services say that they are well. */
  async healthy(...services: readonly string[]): Promise<void> {
    const deadline = performance.now() + HEALTHY_MS;
    for (const service of services) {
      for (;;) {
        const { health } = await this.state(service);
        if (health === "healthy") break;
        if (performance.now() > deadline) {
          const said = await this.run("logs", "--no-color", "--tail", "30", service);
          throw new Error(`${service} is ${health}, not healthy:\n${said}`);
        }
        await delay(500, undefined, { signal: this.#options.signal });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { docker, name, file, envFile } = this.#options;
    // Nothing was started before its variables were there.
    if (!existsSync(envFile)) return;
    const head = ["--project-name", name, "--env-file", envFile, "--file", file];
    await docker.compose([...head, "down", "--volumes", "--timeout", "10"], {
      timeoutMs: STEP_MS,
    });
  }
}
