import { describe, expect, test } from "vitest";
import { addChecksum, CHECKSUM_BYTES, checkBody } from "./checked-body.ts";
import { decodeResource, encodeResource } from "./codec.ts";
import { isStorageError } from "./errors.ts";
import { cutBody, decodeHead } from "./list/resource-head.ts";
import { assertSame } from "./testing/assertions.ts";
import { A1, HOME, payload, sample } from "./testing/samples.ts";

const RESOURCES = [
  sample(A1, HOME, "web"),
  sample(A1, HOME, "web", {
    metadata: { note: "x".repeat(300) },
    owner: sample(A1, HOME, "api").id,
    data: payload("some bytes of data"),
  }),
];

describe("a body with a checksum", () => {
  test("is the resource, also for releases that know of none", () => {
    for (const resource of RESOURCES) {
      const checked = addChecksum(encodeResource(resource));
      assertSame(decodeResource(checkBody(checked), ""), resource);
      assertSame(decodeResource(checked, ""), resource);
    }
  });

  test("betrays every bit that has changed", () => {
    for (const resource of RESOURCES) {
      const checked = addChecksum(encodeResource(resource));
      let unnoticed = 0;
      for (let bit = 0; bit < checked.length * 8; bit += 1) {
        const damaged = Buffer.from(checked);
        damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        try {
          // A bit of the tag hides the checksum; then all else is whole.
          assertSame(decodeResource(checkBody(damaged), ""), resource);
          expect(bit >> 3).toBeGreaterThanOrEqual(checked.length - CHECKSUM_BYTES);
          unnoticed += 1;
        } catch (error) {
          if (!isStorageError(error, "STORAGE_CORRUPT")) throw error;
        }
      }
      expect(unnoticed).toBeLessThan(16);
    }
  });

  test("is not seen in data that looks like one", () => {
    const value = addChecksum(Buffer.from("some bytes"));
    value[value.length - 1] = (value.at(-1) ?? 0) ^ 1;
    const resource = sample(A1, HOME, "web", { data: { typeUrl: "x/Y", value } });
    const body = encodeResource(resource);
    assertSame(decodeResource(checkBody(body), ""), resource);
  });

  test("has the head of the resource, whole or as a beginning", () => {
    for (const resource of RESOURCES) {
      const checked = addChecksum(encodeResource(resource));
      const cut = cutBody(checked, checked.length);
      if (cut === undefined) throw new Error("the body is whole");
      const { data, ...rest } = resource;
      expect(decodeHead(cut, "")).toEqual({
        ...rest,
        ...(data && { data: { typeUrl: data.typeUrl, bytes: data.value.length } }),
      });
      for (let length = 0; length < checked.length; length += 1) {
        const part = cutBody(checked.subarray(0, length), checked.length);
        if (part !== undefined) expect(part).toEqual(cut);
      }
    }
  });
});
