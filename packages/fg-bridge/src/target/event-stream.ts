import { sanitizeRemoteText } from "../envelope/grpc-text.ts";

/**
 * Reads a stream of server-sent events as it comes: progress is handed on, and the data of the event
 * `result` is the answer.
 */
export class EventStreamReader {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #onProgress: (text: string) => void;
  #rest = "";
  #event = "";
  #data: string[] = [];
  /** The data of the last `result`, once it was read. */
  result: string | undefined;

  constructor(onProgress: (text: string) => void) {
    this.#onProgress = onProgress;
  }

  /** Throws for what is not UTF-8. */
  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      const line = this.#rest + text.slice(start, end);
      this.#rest = "";
      this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      start = end + 1;
    }
    // Only joined here: what has come of a long line is not searched again with each chunk.
    this.#rest += text.slice(start);
  }

  #line(line: string): void {
    if (line === "") {
      const data = this.#data.join("\n");
      if (this.#event === "result") this.result = data;
      else if (this.#event === "progress") this.#onProgress(sanitizeRemoteText(data, 1000));
      this.#event = "";
      this.#data = [];
    } else if (line.startsWith("event:")) this.#event = line.slice(6).trim();
    else if (line.startsWith("data:")) this.#data.push(line.slice(5).replace(/^ /, ""));
  }
}

/** One event. Line breaks in the data become further lines. */
export function formatEvent(event: string, data: string): string {
  return `event: ${event}\n${data
    .split("\n")
    .map((line) => `data: ${line}\n`)
    .join("")}\n`;
}
