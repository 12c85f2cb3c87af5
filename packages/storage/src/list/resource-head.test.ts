import { expect, test } from "vitest";
import { encodeResource } from "../codec.ts";
import { createRandom } from "../testing/random.ts";
import { A1, HOME, sample } from "../testing/samples.ts";
import { cutBody, decodeHead, toHead } from "./resource-head.ts";

const VALUES = [
  undefined,
  { typeUrl: "", value: new Uint8Array() },
  { typeUrl: "t", value: new Uint8Array() },
  { typeUrl: "", value: new Uint8Array(3) },
  { typeUrl: "type.example/T", value: new Uint8Array(127) },
  { typeUrl: "type.example/T", value: new Uint8Array(128) },
  { typeUrl: "type.example/T", value: new Uint8Array(70_000) },
];

test.for(VALUES)("the head of a body is that of its resource: %o", (data) => {
  const resource = sample(A1, HOME, "one", {
    version: "7",
    metadata: { a: "b", long: "x".repeat(300) },
    ...(data === undefined ? {} : { data }),
  });
  const body = encodeResource(resource);
  const cut = cutBody(body, body.byteLength);
  expect(cut && decodeHead(cut, "7")).toEqual(toHead(resource));
});

test("every beginning of a body gives the same head, or is too short for one", () => {
  const data = { typeUrl: "type.example/T", value: new Uint8Array(500).fill(9) };
  const resource = sample(A1, HOME, "one", { version: "7", metadata: { a: "b" }, data });
  const body = encodeResource(resource);
  let heads = 0;
  for (let length = 0; length <= body.byteLength; length += 1) {
    const cut = cutBody(body.subarray(0, length), body.byteLength);
    if (cut === undefined) continue;
    heads += 1;
    expect(decodeHead(cut, "7")).toEqual(toHead(resource));
  }
  // All but the data is enough: the bytes of the data are not needed.
  expect(heads).toBe(501);
});

test("a damaged body is a clear error or a head, and never anything else", () => {
  const data = { typeUrl: "t", value: new Uint8Array(40) };
  const body = encodeResource(sample(A1, HOME, "one", { metadata: { a: "b" }, data }));
  const random = createRandom(3);
  for (let round = 0; round < 2_000; round += 1) {
    const damaged = Uint8Array.from(body);
    damaged[random.below(damaged.length)] = random.below(256);
    try {
      const cut = cutBody(damaged, damaged.byteLength);
      expect(cut?.envelope.byteLength ?? 0).toBeLessThanOrEqual(damaged.byteLength);
    } catch (error) {
      expect(error).toMatchObject({ code: "STORAGE_CORRUPT" });
    }
  }
});
