import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";

/** The prompt of the second line of an entry and of those after it. */
const CONTINUATION = ": ";

/** Reads entries of one or more lines from a terminal; see `Terminal.promptedEntries`. */
export async function* promptedEntries(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  prompt: string,
  continues: (entry: string) => boolean = () => false,
): AsyncGenerator<string, void, undefined> {
  const reader = createInterface({ input, output, prompt, terminal: true });
  let entry: string | undefined;
  const ask = (): void => {
    reader.setPrompt(entry === undefined ? prompt : CONTINUATION);
    reader.prompt();
  };
  reader.on("SIGINT", () => {
    if (reader.line === "" && entry === undefined) {
      reader.close();
      return;
    }
    // As typed: the line to its beginning and to its end.
    reader.write(null, { ctrl: true, name: "e" });
    output.write(entry === undefined ? "^C\n" : "^C\n(multi-line entry canceled)\n");
    reader.write(null, { ctrl: true, name: "u" });
    entry = undefined;
    ask();
  });
  let isEnded = false;
  reader.once("close", () => {
    isEnded = true;
  });
  try {
    ask();
    for await (const line of reader) {
      const whole: string = entry === undefined ? line : `${entry}\n${line}`;
      if (continues(whole)) entry = whole;
      else {
        entry = undefined;
        yield whole;
      }
      if (!isEnded) ask();
    }
  } finally {
    reader.close();
  }
  // The next text begins a line, also after Ctrl-D.
  output.write("\n");
}
