import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeResource,
  encodeResource,
  messageToResource,
  ResourceEncoder,
  resourceToMessage,
} from "./codec.ts";
import { freezeResource } from "./freeze.ts";
import type { Resource } from "./resource.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const type = fc.record({ group: text, groupVersion: text, kind: text });
const tenancy = fc.record({ partition: text, peerName: text, namespace: text });
const id = fc.record({ uid: text, name: text, type, tenancy });
const condition = fc.record(
  {
    type: text,
    state: fc.constantFrom("unknown" as const, "true" as const, "false" as const),
    reason: text,
    message: text,
    resource: fc.record({ type, tenancy, name: text, section: text }),
  },
  { requiredKeys: ["type", "state", "reason", "message"] },
);
const status = fc.record(
  {
    observedGeneration: text,
    conditions: fc.array(condition, { maxLength: 3 }),
    updatedAt: fc.record({
      seconds: fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
      nanos: fc.integer({ min: 0, max: 999_999_999 }),
    }),
  },
  { requiredKeys: ["observedGeneration", "conditions"] },
);
const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString", ""));
const resource: fc.Arbitrary<Resource> = fc.record(
  {
    id,
    owner: id,
    version: text,
    generation: text,
    metadata: fc.dictionary(key, text, { maxKeys: 4, noNullPrototype: true }),
    status: fc.dictionary(key, status, { maxKeys: 3, noNullPrototype: true }),
    data: fc.record({ typeUrl: text, value: fc.uint8Array({ maxLength: 40 }) }),
  },
  { requiredKeys: ["id", "version", "generation", "metadata", "status"] },
);

describe("the resource codec", () => {
  test("returns every resource, under the given version", () => {
    fc.assert(
      fc.property(resource, text, (given, version) => {
        assert.deepEqual(
          decodeResource(encodeResource(given), version),
          freezeResource(given, version),
        );
      }),
    );
  });

  test("encodes the same with and without kept memory, whatever was encoded before", () => {
    const encoder = new ResourceEncoder();
    fc.assert(
      fc.property(resource, fc.boolean(), (given, large) => {
        const value = new Uint8Array(large ? 100_000 : 10);
        const next = { ...given, data: { typeUrl: "t", value } };
        assert.deepEqual(encoder.encode(next), encodeResource(next));
        assert.deepEqual(encoder.encode(given), encodeResource(given));
      }),
    );
  });

  test("agrees with a frozen copy", () => {
    fc.assert(
      fc.property(resource, (given) => {
        assert.deepEqual(messageToResource(resourceToMessage(given)), freezeResource(given));
      }),
    );
  });

  test("keeps no byte of its input", () => {
    fc.assert(
      fc.property(resource, (given) => {
        const bytes = encodeResource(given);
        const decoded = decodeResource(bytes, given.version);
        bytes.fill(0);
        assert.deepEqual(decoded, freezeResource(given));
      }),
    );
  });

  test("says that what is no resource is corrupt", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          decodeResource(bytes, "1");
        } catch (error) {
          expect(error).toMatchObject({ code: "STORAGE_CORRUPT" });
        }
      }),
    );
  });
});
