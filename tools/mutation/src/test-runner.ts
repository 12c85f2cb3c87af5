import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Target } from "./targets.ts";
import type { TestAnswer, TestRequest } from "./test-messages.ts";

interface TestVerdict {
  /** `late`: it did not end in its time. */
  readonly outcome: "passed" | "failed" | "late";
  readonly milliseconds: number;
}

/** Runs single test files in a sandbox, by a process that it starts again after one that did not end. */
export class TestRunner implements AsyncDisposable {
  readonly #root: string;
  readonly #projects: readonly string[];
  readonly #hits: string;
  #process: Promise<{ child: ChildProcess; tests: readonly string[] }> | undefined;
  #changed: string[] = [];

  readonly #env: Readonly<Record<string, string>>;

  constructor(
    root: string,
    { projects, env = {} }: Pick<Target, "projects" | "env">,
    hits: string,
  ) {
    this.#root = root;
    this.#projects = projects;
    this.#env = env;
    this.#hits = hits;
  }

  /** All test files, relative to the root of the sandbox. */
  async tests(): Promise<readonly string[]> {
    return (await this.#started()).tests;
  }

  /** Says that a file has other content now. */
  changed(path: string): void {
    this.#changed.push(path);
  }

  async run(test: string, limitMs: number): Promise<TestVerdict> {
    const { child } = await this.#started();
    const request: TestRequest = { changed: this.#changed, test };
    this.#changed = [];
    child.send(request);
    const late = AbortSignal.timeout(Math.ceil(limitMs));
    const over = new AbortController();
    const signal = AbortSignal.any([late, over.signal]);
    try {
      const [answer] = (await Promise.race([
        once(child, "message", { signal }),
        once(child, "exit", { signal }).then((): TestAnswer[] => [
          { type: "done", failed: true, milliseconds: 0 },
        ]),
      ])) as [TestAnswer];
      if (answer.type !== "done") throw new Error(`unexpected answer: ${answer.type}`);
      if (child.exitCode !== null) this.#process = undefined;
      return {
        outcome: answer.failed ? "failed" : "passed",
        milliseconds: answer.milliseconds,
      };
    } catch (error) {
      if (!late.aborted) throw error;
      await this.#stop();
      return { outcome: "late", milliseconds: limitMs };
    } finally {
      over.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  #started(): Promise<{ child: ChildProcess; tests: readonly string[] }> {
    this.#process ??= this.#start();
    return this.#process;
  }

  async #start() {
    const child = fork(
      join(import.meta.dirname, "test-process.ts"),
      [this.#root, this.#projects.join(",")],
      {
        // A group of its own: the workers of vitest end with it.
        detached: true,
        stdio: ["ignore", "ignore", "inherit", "ipc"],
        env: { ...process.env, ...this.#env, STACKWRIGHT_HITS: this.#hits },
      },
    );
    const [answer] = (await once(child, "message")) as [TestAnswer];
    return { child, tests: answer.type === "ready" ? answer.tests : [] };
  }

  async #stop(): Promise<void> {
    const started = this.#process;
    this.#process = undefined;
    if (started === undefined) return;
    const { child } = await started;
    if (child.exitCode !== null || child.pid === undefined) return;
    const ended = once(child, "exit");
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }
}
