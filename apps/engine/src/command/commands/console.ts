import { runConsole, type Scope } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";

export interface ConsoleCommandOptions {
  /** Each answer is one line of JSON. */
  readonly json: boolean;
}

/** Answers expressions, one per line of standard input. A person gets a prompt; `exit` ends it. */
export async function answerExpressions(
  scope: Scope,
  { json }: ConsoleCommandOptions,
  { terminal }: CommandContext,
): Promise<ExitCode> {
  const prompt = terminal.interactive && !json ? "> " : "";
  const lines = async function* (): AsyncGenerator<string> {
    terminal.write(prompt);
    for await (const line of terminal.lines()) {
      if (prompt !== "" && (line.trim() === "exit" || line.trim() === "quit")) return;
      yield line;
      terminal.write(prompt);
    }
    if (prompt !== "") terminal.write("\n");
  };
  let failed = false;
  for await (const answer of runConsole(lines(), { scope })) {
    terminal.write(`${json ? answer.json : answer.text}\n`);
    failed ||= answer.diagnostics.some(({ severity }) => severity === "error");
  }
  return failed && prompt === "" && !json ? EXIT.failed : EXIT.ok;
}
