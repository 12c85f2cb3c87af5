import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitFor } from "../testing/wait-for.ts";
import { callServer } from "./call-server.ts";
import type { Environment } from "./environment.ts";

const RUN_MS = 90_000;
const ENDED =
  /^(?:applied|plan_finished|no_changes|failed|canceled|discarded|superseded|partially_applied)$/;

/** What scenarios read of a run. */
interface ShownRun {
  readonly id: string;
  readonly number: number;
  readonly phase: string;
  readonly mode: string;
  readonly plan_digest?: string;
}

/** A stack of the project `default` of a server, whose runs the server executes. */
export class ServerStack {
  readonly name: string;
  readonly #environment: Environment;

  constructor(environment: Environment, name: string) {
    this.#environment = environment;
    this.name = name;
  }

  static async create(environment: Environment, name: string): Promise<ServerStack> {
    await callServer(environment.server, "POST", "/api/v1/projects/default/stacks", { name });
    return new ServerStack(environment, name);
  }

  /** Calls the API below the stack. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const place = `/api/v1/projects/default/stacks/${this.name}${path}`;
    return callServer<T>(this.#environment.server, method, place, body);
  }

  /** Uploads a configuration; gives its digest. */
  async upload(text: string): Promise<string> {
    await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-configuration-"));
    await writeFile(join(folder.path, "main.tf"), text);
    const { stdout } = await promisify(execFile)("tar", ["-cz", "-C", folder.path, "main.tf"], {
      encoding: "buffer",
    });
    const made = await this.call<{ digest: string }>(
      "POST",
      "/configurations",
      Uint8Array.from(stdout),
    );
    return made.digest;
  }

  /** The runs, the first one first. */
  async runs(): Promise<readonly ShownRun[]> {
    const { runs } = await this.call<{ runs: ShownRun[] }>("GET", "/runs");
    return runs.toSorted((one, other) => one.number - other.number);
  }

  /** Waits until a run is in a phase; rejects where it ends in another one. The newest run, without a number. */
  async reaches(phase: string, number?: number): Promise<ShownRun> {
    let seen = "no run";
    return waitFor(
      `run ${number ?? "of the stack"} to be ${phase}`,
      async () => {
        const found = (await this.runs()).findLast(
          (run) => number === undefined || run.number === number,
        );
        seen = `${found?.number ?? "none"}: ${found?.phase ?? ""}`;
        if (found?.phase === phase) return found;
        if (number !== undefined && ENDED.test(found?.phase ?? "")) {
          throw new Error(`run ${number} of ${this.name} is ${found?.phase}, not ${phase}`);
        }
        return undefined;
      },
      { limitMs: RUN_MS, pollMs: 250, seen: () => seen },
    );
  }
}
