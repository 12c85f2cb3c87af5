import { randomUUID } from "node:crypto";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";
import type { ComposeProject } from "./compose-project.ts";
import type { Ports } from "./prepare.ts";
import { type RunResult, tryCommand } from "./run-command.ts";

/** What the server made at its first start. */
interface FirstCredentials extends SigningCredentials {
  readonly token: string;
}

export interface TrialWorldOptions {
  readonly project: ComposeProject;
  readonly ports: Ports;
  /** Of the repository. */
  readonly root: string;
  /** For what the command keeps. */
  readonly folder: string;
  /** The folder of secrets. */
  readonly secrets: string;
  readonly signal: AbortSignal;
}

/** Everything that the steps of a trial do from outside of the containers. */
export class TrialWorld {
  readonly project: ComposeProject;
  readonly url: string;
  readonly #options: TrialWorldOptions;
  #first: FirstCredentials | undefined;

  constructor(options: TrialWorldOptions) {
    this.#options = options;
    this.project = options.project;
    this.url = `http://127.0.0.1:${options.ports.server}`;
  }

  /** A folder with the template of the example, as people would copy it. */
  async makeStack(): Promise<void> {
    const { root, folder } = this.#options;
    await mkdir(folder, { recursive: true });
    await cp(join(root, "examples/private-provider/hcl"), this.#stack, { recursive: true });
  }

  get #stack(): string {
    return join(this.#options.folder, "stack");
  }

  /** Runs the command on this machine, with the store of the server. */
  async stackwright(...words: readonly string[]): Promise<RunResult> {
    const { root, ports, secrets, folder, signal } = this.#options;
    const { token } = await this.#credentials();
    const entry = join(root, "apps/engine/bin/stackwright.mjs");
    return tryCommand([process.execPath, entry, ...words], {
      cwd: this.#stack,
      timeoutMs: 120_000,
      signal,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        NO_COLOR: "1",
        STACKWRIGHT_STORE: `stackwright://127.0.0.1:${ports.storage}`,
        STACKWRIGHT_TOKEN: token,
        STACKWRIGHT_FUNCTIONS: join(secrets, "functions-table.json"),
      },
    });
  }

  /** Calls the RFS API, signed with the first access key. */
  async rfs(method: string, target: string, body?: object): Promise<Response> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const host = new URL(this.url).host;
    const headers = signRequest(
      {
        method,
        target,
        headers: [
          ["host", host],
          ["client-request-id", randomUUID()],
          ...(body === undefined ? [] : [["content-type", "application/json"] as const]),
        ],
        body: Buffer.from(text),
      },
      await this.#credentials(),
    ) as [string, string][];
    return fetch(this.url + target, {
      method,
      headers,
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body: text }),
    });
  }

  /** What the function keeps: the addresses that are taken. */
  async takenAddresses(): Promise<readonly string[]> {
    const folder = "/var/lib/stackwright/ipam/10.20.0.0_28";
    const list = `[ ! -d ${folder} ] || ls ${folder}`;
    const text = await this.project.exec("functions", "sh", "-c", list);
    return text.split("\n").filter((line) => line !== "");
  }

  async #credentials(): Promise<FirstCredentials> {
    const path = "/var/lib/stackwright/first-credentials.json";
    this.#first ??= JSON.parse(await this.project.exec("server", "cat", path)) as FirstCredentials;
    return this.#first;
  }
}
