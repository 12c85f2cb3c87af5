import { isEngineError } from "@stackwright/core/errors";
import { hintOf } from "../command-error.ts";

/** Commands whose `--json` is lines of events. */
const EVENTS: ReadonlySet<string> = new Set([
  "init",
  "plan",
  "up",
  "apply",
  "destroy",
  "refresh",
  "test",
  "import",
  "import-state",
]);

/**
 * Reports the error that ended a command in the form that its `--json` has, so that a program finds all problems in one
 * place: a line `diagnostic`, or the report of `validate`. Other commands, and those without `--json`, write nothing
 * here.
 */
export async function writeJsonFailure(
  error: unknown,
  words: readonly string[],
  write: (text: string) => void,
): Promise<void> {
  const end = words.indexOf("--");
  const options = end === -1 ? words : words.slice(0, end);
  if (!options.some((word) => /^--?json(?:=(?:1|[tT]|TRUE|[tT]rue))?$/.test(word))) return;
  const name = options.find((word) => EVENTS.has(word) || word === "validate");
  if (name === undefined) return;
  const diagnostic = {
    severity: "error",
    code: isEngineError(error) ? error.code : "ENGINE_COMMAND",
    summary: error instanceof Error ? error.message : String(error),
    detail: hintOf(error) ?? "",
  } as const;
  if (name === "validate") {
    const { diagnosticsReport } = await import("./show-diagnostics.ts");
    write(`${JSON.stringify(diagnosticsReport([diagnostic]), undefined, 2)}\n`);
    return;
  }
  const { JsonEvents } = await import("./json-events.ts");
  new JsonEvents({ terminal: { write }, operation: "plan" }).diagnostic(diagnostic);
}
