import {
  planToTerraformJson,
  type TestEvent,
  type TestRunResult,
  type TestStatus,
  type TestSummary,
} from "@stackwright/core";
import { type Diagnostic, diagnosticToJson } from "@stackwright/lang";
import type { Terminal } from "../terminal/terminal.ts";
import { counted } from "./counted.ts";
import { JSON_EVENTS_VERSION } from "./json-events.ts";
import { exactJson, type JsonMembers, writeExactJson } from "./lossless-json.ts";
import { ShownState } from "./shown-state.ts";
import { stateJson } from "./state-json.ts";
import { type FindSchemas, STATUS_WORDS, summaryText, type TestView } from "./test-view.ts";

type Level = "info" | "warn" | "error";

/** Lines of JSON in the form that tools know of the reference command's `test -json`. */
export class JsonTestView implements TestView {
  readonly #terminal: Pick<Terminal, "write">;
  readonly #now: () => Date;

  constructor(
    terminal: Pick<Terminal, "write">,
    version: string,
    now: () => Date = () => new Date(),
  ) {
    this.#terminal = terminal;
    this.#now = now;
    const members = { stackwright: version, ui: JSON_EVENTS_VERSION };
    this.#write("info", `Stackwright ${version}`, "version", members);
  }

  async event(event: TestEvent, schemas: FindSchemas | undefined): Promise<void> {
    switch (event.type) {
      case "suite": {
        const runs = [...event.files.values()].flat().length;
        const found = `Found ${counted(event.files.size, "file")} and ${counted(runs, "run block")}`;
        const files = Object.fromEntries(event.files);
        this.#write("info", found, "test_abstract", { test_abstract: files });
        break;
      }
      case "file-start":
        this.#file(event.file, "starting", "in progress");
        break;
      case "file-teardown":
        this.#file(event.file, "teardown", "tearing down");
        break;
      case "file-end":
        this.#file(event.file, "complete", STATUS_WORDS[event.status], event.status);
        break;
      case "run-start":
        this.#run(event.file, event.run, "starting", "in progress", { elapsed: 0 });
        break;
      case "run-teardown":
        this.#run(event.file, event.run, "teardown", "tearing down", { elapsed: 0 });
        break;
      case "run-end": {
        const { file, result } = event;
        const { name, status } = result;
        this.#run(file, name, "complete", STATUS_WORDS[status], { status });
        if (schemas !== undefined) await this.#detail(file, result, schemas);
        this.#diagnostics(result.diagnostics, { "@testfile": file, "@testrun": name });
        break;
      }
      case "left": {
        const { file, run, addresses, diagnostics } = event;
        const place = { "@testfile": file, "@testrun": run };
        const message = `Objects of ${file}/${run} exist still and have to be destroyed by hand.`;
        this.#write("error", message, "test_cleanup", {
          ...place,
          test_cleanup: { failed_resources: addresses.map((instance) => ({ instance })) },
        });
        this.#diagnostics(diagnostics, place);
        break;
      }
      case "interrupted":
        this.#write(
          "error",
          "Stopping: the run in progress ends, and what was made is destroyed.",
          "test_interrupt",
          { test_interrupt: {} },
        );
        break;
      default:
        event satisfies never;
    }
  }

  diagnostics(diagnostics: readonly Diagnostic[]): void {
    this.#diagnostics(diagnostics, {});
  }

  summary(summary: TestSummary): void {
    const { passed, failed, errored, skipped, isClean, status } = summary;
    const counts = { passed, failed, errored, skipped };
    const shown = isClean || status === "fail" ? status : "error";
    this.#write("info", summaryText(summary), "test_summary", {
      test_summary: { status: shown, ...counts },
    });
  }

  #file(path: string, progress: string, words: string, status?: TestStatus): void {
    this.#write("info", `${path}... ${words}`, "test_file", {
      "@testfile": path,
      test_file: { path, progress, ...(status !== undefined && { status }) },
    });
  }

  #run(path: string, run: string, progress: string, words: string, more: JsonMembers): void {
    this.#write("info", `  "${run}"... ${words}`, "test_run", {
      "@testfile": path,
      "@testrun": run,
      test_run: { path, run, progress, ...more },
    });
  }

  #diagnostics(diagnostics: readonly Diagnostic[], place: JsonMembers): void {
    for (const diagnostic of diagnostics) {
      const isError = diagnostic.severity === "error";
      const message = `${isError ? "Error" : "Warning"}: ${diagnostic.summary}`;
      this.#write(isError ? "error" : "warn", message, "diagnostic", {
        ...place,
        diagnostic: diagnosticToJson(diagnostic) as unknown as JsonMembers,
      });
    }
  }

  async #detail(file: string, result: TestRunResult, schemas: FindSchemas): Promise<void> {
    const { detail, name } = result;
    const place = { "@testfile": file, "@testrun": name };
    if (detail?.kind === "plan") {
      const plan = exactJson(planToTerraformJson(detail.plan, { secrets: "hidden" }));
      this.#write("info", "The plan of the run", "test_plan", { ...place, test_plan: plan });
    }
    if (detail?.kind !== "state") return;
    const { snapshot } = detail;
    const schemaOf = await schemas([...snapshot.objects.values()].map(({ provider }) => provider));
    const shown = new ShownState(snapshot, { schemaOf, secrets: "hidden" });
    const state = exactJson(stateJson(snapshot, shown));
    this.#write("info", "The state of the run", "test_state", { ...place, test_state: state });
  }

  #write(level: Level, message: string, type: string, members: JsonMembers): void {
    const line = {
      "@level": level,
      "@message": message,
      "@module": "stackwright.ui",
      "@timestamp": this.#now().toISOString(),
      ...members,
      type,
    };
    this.#terminal.write(`${writeExactJson(line)}\n`);
  }
}
