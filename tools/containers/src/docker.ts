import {
  type CommandOptions,
  type CommandResult,
  requireCommand,
  runCommand,
} from "@stackwright-tools/processes";

/** The two commands of a Docker engine, with the environment in which they find it. */
export class Docker {
  readonly env: NodeJS.ProcessEnv;
  readonly #compose: readonly [string, ...string[]];

  private constructor(env: NodeJS.ProcessEnv, compose: readonly [string, ...string[]]) {
    this.env = env;
    this.#compose = compose;
  }

  /** The engine that `env` leads to, or in a few words what is missing. */
  static async find(env: NodeJS.ProcessEnv): Promise<Docker | string> {
    const info = await runCommand(["docker", "version", "--format", "{{.Server.Version}}"], {
      env,
      timeoutMs: 10_000,
    });
    if (info.code !== 0) return "no Docker engine answers";
    for (const compose of [["docker", "compose"], ["docker-compose"]] as const) {
      const { code } = await runCommand([...compose, "version"], { env, timeoutMs: 20_000 });
      if (code === 0) return new Docker(env, compose);
    }
    return "neither docker compose nor docker-compose is installed";
  }

  async run(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return requireCommand(["docker", ...args], { env: this.env, ...options });
  }

  async try(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return runCommand(["docker", ...args], { env: this.env, ...options });
  }

  /** How compose is started here. */
  get composeCommand(): readonly string[] {
    return this.#compose;
  }

  /** Runs compose. */
  async compose(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return requireCommand([...this.#compose, ...args], { env: this.env, ...options });
  }
}
