import type { TestEvent, TestRunResult, TestStatus, TestSummary } from "@stackwright/core";
import type { Diagnostic } from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import type { Tone } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { outputsText } from "./human-renderer.ts";
import { objectText } from "./object-text.ts";
import { planText, type SchemaOf } from "./plan-text.ts";
import { showDiagnostics } from "./show-diagnostics.ts";
import { ShownState } from "./shown-state.ts";

/** Finds the schemas of objects that are shown. */
export type FindSchemas = (providers: readonly ProviderReference[]) => Promise<SchemaOf>;

/** Shows how tests go. */
export interface TestView {
  /** @param schemas given where plans and states of runs are shown as well */
  event(event: TestEvent, schemas: FindSchemas | undefined): Promise<void> | void;
  diagnostics(diagnostics: readonly Diagnostic[]): void;
  summary(summary: TestSummary): void;
}

/** What a status is called; runs that could not be executed have failed as well. */
export const STATUS_WORDS: Readonly<Record<TestStatus, string>> = {
  pending: "pending",
  skip: "skip",
  pass: "pass",
  fail: "fail",
  error: "fail",
};

const TONES: Readonly<Record<TestStatus, Tone>> = {
  pending: "quiet",
  skip: "quiet",
  pass: "success",
  fail: "error",
  error: "error",
};

/** `Success! 2 passed, 0 failed.` */
export function summaryText({ status, passed, failed, errored, skipped, isClean }: TestSummary) {
  const good = isClean && status !== "fail" && status !== "error";
  const more = skipped > 0 ? `, ${skipped} skipped` : "";
  return `${good ? "Success!" : "Failure!"} ${passed} passed, ${failed + errored} failed${more}.`;
}

/** Text for people. */
export class TextTestView implements TestView {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  async event(event: TestEvent, schemas: FindSchemas | undefined): Promise<void> {
    const { style } = this.#terminal;
    const write = (text: string): void => this.#terminal.write(`${text}\n`);
    switch (event.type) {
      case "file-start":
        write(`${event.file}... ${style.paint("quiet", "in progress")}`);
        break;
      case "file-teardown":
        write(`${event.file}... ${style.paint("quiet", "tearing down")}`);
        break;
      case "file-end":
        write(`${event.file}... ${this.#status(event.status)}`);
        break;
      case "run-end": {
        const { result } = event;
        write(`  run "${result.name}"... ${this.#status(result.status)}`);
        if (schemas !== undefined) await this.#detail(result, schemas);
        this.diagnostics(result.diagnostics);
        break;
      }
      case "left": {
        const { file, run, addresses, diagnostics } = event;
        const list = addresses.map((address) => `  - ${address}\n`).join("");
        this.#terminal.writeError(
          `\nObjects that the run ${file}/${run} made could not all be destroyed.\n`,
        );
        this.diagnostics(diagnostics);
        if (addresses.length > 0)
          this.#terminal.writeError(
            `\nThese objects of ${file}/${run} exist still. Destroy them by hand:\n${list}`,
          );
        break;
      }
      case "interrupted":
        this.#terminal.writeError(
          "\nStopping: the run in progress ends, and what was made is destroyed. Ctrl-C again stops at once.\n",
        );
        break;
      case "suite":
      case "run-start":
      case "run-teardown":
      default:
        break;
    }
  }

  diagnostics(diagnostics: readonly Diagnostic[]): void {
    showDiagnostics(this.#terminal, diagnostics);
  }

  summary(summary: TestSummary): void {
    const text = summaryText(summary);
    const tone = text.startsWith("Success") ? "success" : "error";
    this.#terminal.write(`\n${this.#terminal.style.paint(tone, text)}\n`);
  }

  #status(status: TestStatus): string {
    return this.#terminal.style.paint(TONES[status], STATUS_WORDS[status]);
  }

  async #detail({ detail }: TestRunResult, schemas: FindSchemas): Promise<void> {
    const { style } = this.#terminal;
    if (detail?.kind === "plan") {
      const { plan } = detail;
      const schemaOf = await schemas(plan.changes.map(({ provider }) => provider));
      this.#terminal.write(`\n${planText(plan, { style, schemaOf })}\n`);
    }
    if (detail?.kind !== "state") return;
    const { snapshot } = detail;
    const objects = [...snapshot.objects.values()];
    const schemaOf = await schemas(objects.map(({ provider }) => provider));
    const shown = new ShownState(snapshot, { schemaOf, secrets: "hidden" });
    const outputs = outputsText(snapshot.outputs, shown.hiddenOutputs(snapshot.outputs));
    const texts = objects
      .toSorted((a, b) => (a.address < b.address ? -1 : 1))
      .map((object) => objectText(object, this.#terminal, { shown, schemaOf }));
    const all = [...texts, ...(outputs === "" ? [] : [`Outputs:\n\n${outputs}`])];
    this.#terminal.write(`\n${all.join("\n")}\n`);
  }
}
