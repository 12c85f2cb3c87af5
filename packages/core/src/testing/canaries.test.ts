import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { canary, findCanaries } from "./canaries.ts";

test("a canary is found as it is, encoded and packed, and not in other bytes", () => {
  const secret = canary("word");
  const canaries = [canary("other"), secret];
  const places = [
    Buffer.from(`a ${secret} b`),
    Buffer.from(Buffer.from(`user:${secret}`).toString("base64")),
    Buffer.from(Buffer.from(`us:${secret}`).toString("base64")),
    Buffer.from(Buffer.from(secret).toString("hex").toUpperCase()),
    Buffer.from(`x${secret}`, "utf16le"),
    gzipSync(`a ${secret} b`),
  ];
  for (const [index, bytes] of places.entries()) {
    const found = findCanaries("here", bytes, canaries);
    expect(found.length, `place ${index}`).toBe(1);
    expect(found[0]).toContain(secret);
  }
  expect(findCanaries("here", Buffer.from(secret.slice(0, -4)), canaries)).toEqual([]);
});
