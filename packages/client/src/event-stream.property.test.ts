import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClientError } from "./errors.ts";
import { readEvents, type StreamEvent } from "./event-stream.ts";

/** Lines as a server, a proxy or somebody else sends them. */
const line = fc.oneof(
  fc.constantFrom(
    "",
    ":",
    ": sign of life",
    "data",
    "data:",
    "data: ",
    "data:  x",
    "id: 7:8",
    "event: end",
    "retry: 1",
  ),
  fc
    .tuple(
      fc.constantFrom("data", "id", "event", "", "Data"),
      fc.string({ unit: "binary", maxLength: 9 }),
    )
    .map(([name, value]) => `${name}:${value.replaceAll(/[\r\n]/g, "")}`),
);
const ending = fc.constantFrom("\n", "\r\n", "\r");

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % Math.max(1, sizes.length)] ?? 1);
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function eventsOf(text: string, sizes: readonly number[]): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of readEvents(inPieces(Buffer.from(text), sizes))) {
    if (event !== undefined) events.push(event);
  }
  return events;
}

/** The same, read from the whole text line by line. */
function expectedOf(text: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  let [id, event] = ["", "message"];
  let data: string[] = [];
  const lines = text.split(/\r\n|\n|\r/);
  lines.pop();
  for (const one of lines) {
    const colon = one.indexOf(":");
    const name = colon === -1 ? one : one.slice(0, colon);
    const value = colon === -1 ? "" : one.slice(colon + 1).replace(/^ /, "");
    if (one === "") {
      if (data.length > 0) events.push({ id, event, data: data.join("\n") });
      [event, data] = ["message", []];
    } else if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "event") event = value;
  }
  return events;
}

describe("a stream of events", () => {
  it("is read alike, wherever it is cut into pieces", async () => {
    const text = fc
      .array(fc.tuple(line, ending), { maxLength: 12 })
      .map((lines) => lines.flat().join(""));
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(fc.nat({ max: 7 }), { maxLength: 5 }),
        async (given, sizes) => {
          // A carriage return at the very end may be half of a line end: what is behind it has not arrived.
          const whole = `${given}data: last\n\n:\n`;
          // Bytes that are no text are read as a decoder reads them.
          const decoded = new TextDecoder().decode(Buffer.from(whole));
          expect(await eventsOf(whole, sizes)).toEqual(expectedOf(decoded));
        },
      ),
    );
  });

  it("of one line without an end is given up in time that grows with its length", async () => {
    const endless = async function* endless(): AsyncGenerator<Uint8Array> {
      const piece = Buffer.from("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
      for (let sent = 0; sent < 5 * 1024 * 1024; sent += piece.length) yield piece;
    };
    const read = async (): Promise<void> => {
      for await (const event of readEvents(endless())) expect(event).toBeUndefined();
    };
    await expect(read()).rejects.toBeInstanceOf(ClientError);
  }, 10_000);
});
