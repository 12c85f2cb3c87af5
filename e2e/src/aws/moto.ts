import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "@stackwright/base/free-ports";

const READY_MS = 60_000;

/** A simulation of AWS on a free port of loopback. Its program is `moto_server`, or what `TEST_MOTO_SERVER` names. */
export class Moto implements AsyncDisposable {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** Undefined where the program is not installed or does not answer. */
  static async start(): Promise<Moto | undefined> {
    const [port = 0] = await freePorts(1);
    const program = process.env["TEST_MOTO_SERVER"] ?? "moto_server";
    const child = spawn(program, ["-H", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
    let failed = false;
    child.once("error", () => (failed = true));
    const moto = new Moto(`http://127.0.0.1:${port}`, child);
    const deadline = Date.now() + READY_MS;
    while (Date.now() < deadline && child.exitCode === null) {
      await delay(250);
      if (failed) return undefined;
      const answer = await fetch(`${moto.url}/moto-api/data.json`).catch(() => undefined);
      if (answer?.ok === true) return moto;
    }
    await moto[Symbol.asyncDispose]();
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.pid === undefined) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }
}
