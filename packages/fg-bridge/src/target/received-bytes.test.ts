import { expect, test } from "vitest";
import { ReceivedBytes } from "./received-bytes.ts";

test("what has arrived is in order, over all growths", () => {
  const received = new ReceivedBytes();
  expect(received.all()).toEqual(Buffer.alloc(0));
  const chunks = Array.from({ length: 300 }, (_, at) => Buffer.alloc(at % 7, at));
  for (const chunk of chunks) received.add(chunk);
  expect(received.all()).toEqual(Buffer.concat(chunks));
});

test("chunks are not kept", () => {
  const received = new ReceivedBytes();
  const chunk = Buffer.from("a");
  received.add(chunk);
  chunk.fill("b");
  received.add(chunk);
  expect(received.all().toString()).toBe("ab");
});
