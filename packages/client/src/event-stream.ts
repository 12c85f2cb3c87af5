import { ClientError } from "./errors.ts";

/** One event of a stream of server-sent events. */
export interface StreamEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Characters of one event. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

/**
 * The events of a stream (`text/event-stream`), and undefined for each line that is none, such as the comments that keep a
 * connection alive. What follows the last complete event is discarded.
 */
export async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamEvent | undefined> {
  const decoder = new TextDecoder();
  // A line that comes in many pieces is put together once: the time grows with its length.
  let pieces: string[] = [];
  let length = 0;
  let data: string[] = [];
  let [id, event, size] = ["", "message", 0];
  for await (const chunk of chunks) {
    const piece = decoder.decode(chunk, { stream: true });
    const mayEnd = /[\r\n]/.test(piece) || pieces.at(-1)?.endsWith("\r") === true;
    if (piece !== "") pieces.push(piece);
    length += piece.length;
    const lines = mayEnd ? pieces.join("").split(/\r\n|\n|\r(?!$)/) : [];
    if (mayEnd) {
      const rest = lines.pop() ?? "";
      pieces = rest === "" ? [] : [rest];
      length = rest.length;
    }
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { id, event, data: data.join("\n") };
        [data, event, size] = [[], "message", 0];
        continue;
      }
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      size += line.length;
      if (name === "data") data.push(value);
      else if (name === "event") event = value;
      else if (name === "id") id = value;
      else yield undefined;
    }
    if (size + length > MAX_EVENT_CHARACTERS) {
      throw new ClientError("CLIENT_UNEXPECTED_ANSWER", "an event of the stream is too large");
    }
  }
}
