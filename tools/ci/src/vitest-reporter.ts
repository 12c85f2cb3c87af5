import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestSpecification } from "vitest/node";
import type { NotedTest, VitestReport } from "./vitest-report.ts";

/**
 * Writes a {@link VitestReport} to `path` when a run has come to its end. Further runs of the same vitest add to it, so
 * that the report is that of all of them.
 */
export class ReportWriter implements Reporter {
  readonly #path: string;
  readonly #root: string;
  readonly #planned: string[] = [];
  readonly #finished: string[] = [];
  readonly #failed: NotedTest[] = [];
  readonly #skipped: NotedTest[] = [];
  readonly #flaky: NotedTest[] = [];
  readonly #errors: string[] = [];
  readonly #counts: { test: string; amount: number; of: string }[] = [];
  #passed = 0;
  #reason = "passed";

  constructor(path: string, root: string) {
    this.#path = path;
    this.#root = root;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#planned.push(...specifications.map(({ moduleId }) => this.#relative(moduleId)));
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    unhandled: readonly SerializedError[],
    reason: string,
  ): void {
    this.#errors.push(...unhandled.map((error) => error.stack ?? error.message));
    for (const module of modules) this.#add(module);
    if (reason !== "passed") this.#reason = reason;
    this.#write();
  }

  #add(module: TestModule): void {
    const file = this.#relative(module.moduleId);
    const state = module.state();
    if (state !== "queued" && state !== "pending") this.#finished.push(file);
    for (const part of [module, ...module.children.allSuites()]) {
      const errors = part.errors().map((error) => `${file}: ${error.stack ?? error.message}`);
      this.#errors.push(...errors);
    }
    for (const test of module.children.allTests()) {
      const result = test.result();
      const noted = { file, test: test.fullName };
      const messages = result.errors?.map((error) => error.message).join("\n");
      if (result.state === "passed") {
        this.#passed += 1;
        if (test.diagnostic()?.flaky === true) this.#flaky.push({ ...noted, note: messages ?? "" });
      } else if (result.state === "skipped") {
        this.#skipped.push({ ...noted, note: result.note ?? "" });
      } else {
        this.#failed.push({ ...noted, note: messages ?? `left ${result.state}` });
      }
      for (const { type, message } of test.annotations()) {
        const [, amount, of] = /^(\d+) (.+)$/.exec(message) ?? [];
        if (type === "count" && amount !== undefined && of !== undefined) {
          this.#counts.push({ test: `${file}: ${test.fullName}`, amount: Number(amount), of });
        }
      }
    }
  }

  #write(): void {
    const report: VitestReport = {
      format: "stackwright-vitest-report/1",
      reason: this.#reason,
      planned: this.#planned,
      finished: this.#finished,
      passed: this.#passed,
      failed: this.#failed,
      skipped: this.#skipped,
      flaky: this.#flaky,
      errors: this.#errors,
      counts: this.#counts,
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
