import type { Ports } from "./prepare.ts";

/** Where a project of compose that runs is found; `E2E_COMPOSE` names a file with it, as JSON. */
export interface RunningProject {
  /** Before the names of everything that compose made. */
  readonly name: string;
  readonly file: string;
  readonly envFile: string;
  /** The folder of secrets, and of the table of functions. */
  readonly secrets: string;
  readonly ports: Ports;
  /** For `DOCKER_HOST`, where it is not the engine of the machine. */
  readonly dockerHost?: string | undefined;
}
