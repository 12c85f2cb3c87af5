import { afterEach, expect, test, vi } from "vitest";
import { EventStreamReader, formatEvent } from "./event-stream.ts";

afterEach(() => vi.restoreAllMocks());

const STREAM = Buffer.from(
  `${formatEvent("progress", "half\ndone")}${formatEvent("result", '{"name":"été"}')}`.replaceAll(
    "\n",
    "\r\n",
  ),
);

test.each([1, 2, 3, 1_000])("events are read that come in chunks of %d bytes", (bytes) => {
  const progress: string[] = [];
  const reader = new EventStreamReader((text) => progress.push(text));
  for (let at = 0; at < STREAM.byteLength; at += bytes)
    reader.push(STREAM.subarray(at, at + bytes));
  expect(progress).toHaveLength(1);
  expect(reader.result).toBe('{"name":"été"}');
});

test("the beginning of a line is not searched again with each chunk", () => {
  const reader = new EventStreamReader(() => undefined);
  const size = 5_000;
  const searches = vi.spyOn(String.prototype, "indexOf");
  for (const byte of Buffer.from("event: result\ndata: ")) reader.push(Buffer.of(byte));
  for (let at = 0; at < size; at += 1) reader.push(Buffer.from("x"));
  reader.push(Buffer.from("\n\n"));
  const searched = searches.mock.contexts.reduce<number>(
    (sum, text) => sum + String(text).length,
    0,
  );
  vi.restoreAllMocks();
  expect(reader.result).toBe("x".repeat(size));
  expect(searched).toBeGreaterThan(size);
  expect(searched).toBeLessThan(3 * size);
});
