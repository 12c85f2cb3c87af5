import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEncryptedState } from "./encryption/encrypted-state.ts";
import { TfstateError } from "./errors.ts";
import { compactJson, parseJsonNode } from "./json-node.ts";
import { formatStateFile, parseStateFile } from "./state-file.ts";

const name = fc.constantFrom("a", "b", "module", "__proto__", "constructor", "", "\u2028", "ключ");
const json = fc.jsonValue({ maxDepth: 3 });
const instance = fc.record(
  {
    index_key: fc.oneof(fc.nat(), name),
    status: fc.constantFrom("tainted", "other"),
    deposed: fc.constantFrom("", "0011aabb"),
    schema_version: fc.nat({ max: 9 }),
    attributes: fc.dictionary(name, json),
    sensitive_attributes: fc.constant([]),
    identity_schema_version: fc.nat({ max: 3 }),
    identity: fc.oneof(fc.constant(null), fc.dictionary(name, fc.string())),
    private: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    dependencies: fc.array(name, { maxLength: 2 }),
    create_before_destroy: fc.boolean(),
  },
  { requiredKeys: ["schema_version", "attributes"] },
);
const resource = fc.record(
  {
    module: name,
    mode: fc.constantFrom("managed", "data"),
    type: name,
    name,
    provider: fc.constantFrom('provider["registry.terraform.io/a/b"]', 'module.a.provider["x"].y'),
    instances: fc.array(instance, { maxLength: 3 }),
  },
  { requiredKeys: ["mode", "type", "name", "provider", "instances"] },
);
const state = fc.record({
  version: fc.constant(4),
  terraform_version: fc.constant("1.11.4"),
  serial: fc.nat(),
  lineage: fc.string(),
  outputs: fc.dictionary(name, fc.record({ value: json, type: json, sensitive: fc.boolean() })),
  resources: fc.array(resource, { maxLength: 3 }),
  check_results: fc.oneof(fc.constant(null), json),
});

/** A part of a text is left out, repeated, or replaced by what a state has elsewhere. */
const damage = fc.array(
  fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.nat({ max: 12 }),
    fc.constantFrom(
      "",
      "{",
      "]",
      ":",
      ",",
      '"',
      "null",
      "-1",
      "1e999",
      "\\u0000",
      "[[[[",
      "4",
      "\u0000",
    ),
  ),
  { minLength: 1, maxLength: 4 },
);

function damaged(text: string, changes: readonly (readonly [number, number, string])[]): string {
  return changes.reduce((before, [share, length, insert]) => {
    const at = Math.floor(share * before.length);
    return before.slice(0, at) + insert + before.slice(at + length);
  }, text);
}

/** The result, or undefined where the text was refused with an error of this package. */
function readOrRefuse<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(TfstateError);
    return undefined;
  }
}

describe("state files", () => {
  it("come back as they were read, whatever names and values they have", () => {
    fc.assert(
      fc.property(state, (document) => {
        const file = readOrRefuse(() => parseStateFile(JSON.stringify(document)));
        if (file === undefined) return;
        const text = formatStateFile(file);
        expect(formatStateFile(parseStateFile(text))).toBe(text);
      }),
    );
  });

  it("are read or refused with an error of this package, however they are damaged", () => {
    fc.assert(
      fc.property(state, damage, (document, changes) => {
        const text = damaged(JSON.stringify(document), changes);
        const file = readOrRefuse(() => parseStateFile(text));
        if (file !== undefined) {
          const again = formatStateFile(file);
          expect(formatStateFile(parseStateFile(again))).toBe(again);
        }
        readOrRefuse(() => parseEncryptedState(Buffer.from(text)));
      }),
    );
  });

  it("are refused where they are nested without end, or are no text of JSON", () => {
    for (const text of [
      "[".repeat(100_000),
      '{"a":'.repeat(100_000),
      "1".repeat(100_000),
      " ".repeat(300_000),
    ]) {
      expect(readOrRefuse(() => parseStateFile(text))).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        readOrRefuse(() => parseStateFile(text));
      }),
    );
  });
});

describe("JSON of states", () => {
  it("is read as JSON.parse reads it, and refused where it refuses", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), damage, fc.boolean(), (valid, changes, isDamaged) => {
        const text = isDamaged ? damaged(valid, changes) : valid;
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(
            readOrRefuse(() => parseJsonNode(text)),
            text,
          ).toBeUndefined();
          return;
        }
        const node = parseJsonNode(text);
        expect(JSON.parse(compactJson(node))).toEqual(expected);
      }),
    );
  });
});

describe("encrypted states", () => {
  it("are read or refused, however they are damaged", () => {
    const encrypted = fc.record({
      serial: fc.nat(),
      lineage: fc.string(),
      meta: fc.dictionary(name, fc.oneof(fc.base64String(), json)),
      encrypted_data: fc.oneof(fc.base64String(), json),
      encryption_version: fc.constantFrom("v0", "v1", ""),
    });
    fc.assert(
      fc.property(encrypted, damage, fc.boolean(), (document, changes, isDamaged) => {
        const text = JSON.stringify(document);
        readOrRefuse(() =>
          parseEncryptedState(Buffer.from(isDamaged ? damaged(text, changes) : text)),
        );
      }),
    );
  });
});
