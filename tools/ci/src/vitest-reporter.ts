import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";
import type { NotedTest, VitestReport } from "./vitest-report.ts";

/** Writes a {@link VitestReport} to `path` when a run has come to its end. */
export class ReportWriter implements Reporter {
  readonly #path: string;
  readonly #root: string;
  #planned: string[] = [];

  constructor(path: string, root: string) {
    this.#path = path;
    this.#root = root;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#planned = specifications.map((specification) => this.#relative(specification.moduleId));
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    reason: string,
  ): void {
    const failed: NotedTest[] = [];
    const skipped: NotedTest[] = [];
    const flaky: NotedTest[] = [];
    const errors = unhandled.map((error) => error.stack ?? error.message);
    const counts: { test: string; amount: number; of: string }[] = [];
    const finished: string[] = [];
    let passed = 0;
    for (const module of modules) {
      const file = this.#relative(module.moduleId);
      const state = module.state();
      if (state !== "queued" && state !== "pending") finished.push(file);
      errors.push(...module.errors().map((error) => `${file}: ${error.stack ?? error.message}`));
      for (const suite of module.children.allSuites()) {
        errors.push(...suite.errors().map((error) => `${file}: ${error.stack ?? error.message}`));
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        const noted = { file, test: test.fullName };
        const messages = result.errors?.map((error) => error.message).join("\n");
        if (result.state === "passed") {
          passed += 1;
          if (test.diagnostic()?.flaky === true) flaky.push({ ...noted, note: messages ?? "" });
        } else if (result.state === "skipped") {
          skipped.push({ ...noted, note: result.note ?? "" });
        } else {
          failed.push({ ...noted, note: messages ?? `left ${result.state}` });
        }
        for (const { type, message } of test.annotations()) {
          const [, amount, of] = /^(\d+) (.+)$/.exec(message) ?? [];
          if (type === "count" && amount !== undefined && of !== undefined) {
            counts.push({ test: `${file}: ${test.fullName}`, amount: Number(amount), of });
          }
        }
      }
    }
    const report: VitestReport = {
      format: "stackwright-vitest-report/1",
      reason,
      planned: this.#planned,
      finished,
      passed,
      failed,
      skipped,
      flaky,
      errors,
      counts,
    };
    mkdirSync(dirname(this.#path), { recursive: true });
    // Renamed into place: a reader never meets half a report.
    writeFileSync(`${this.#path}.part`, JSON.stringify(report, undefined, 1));
    renameSync(`${this.#path}.part`, this.#path);
  }

  #relative(path: string): string {
    return relative(this.#root, path);
  }
}
