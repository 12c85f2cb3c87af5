import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TfstateError } from "./errors.ts";
import { type StateHead, StateHeadScanner } from "./state-head-scanner.ts";

const HEAD = { version: 4, serial: 7, lineage: "line", terraform_version: "1.11.4" };
const STATE = { ...HEAD, outputs: {}, resources: [], check_results: null };

function scan(content: string | Uint8Array, size = Number.POSITIVE_INFINITY): StateHead {
  const bytes = Buffer.from(content);
  const scanner = new StateHeadScanner();
  for (let at = 0; at < bytes.length; at += size) scanner.push(bytes.subarray(at, at + size));
  return scanner.end();
}

function problemOf(content: string): string {
  try {
    scan(content);
  } catch (error) {
    if (error instanceof TfstateError && error.code === "TFSTATE_FILE_INVALID")
      return error.message;
    throw error;
  }
  return "";
}

it("reads what identifies a state, at any division of its bytes", () => {
  const text = JSON.stringify({ ...STATE, lineage: 'a"\\é\n', resources: [{ a: ['"'] }] }, null, 2);
  for (let size = 1; size < 9; size += 1) {
    const { serialOffset, ...head } = scan(text, size);
    expect(head).toEqual({ serial: 7n, lineage: 'a"\\é\n', terraformVersion: "1.11.4" });
    expect(
      Buffer.from(text)
        .subarray(serialOffset, serialOffset + 2)
        .toString(),
    ).toBe("7,");
  }
});

it("takes the members of the state itself only", () => {
  const inner = { serial: 9, version: 3, lineage: "other", resources: 1 };
  const found = scan(JSON.stringify({ ...STATE, outputs: { inner }, resources: [inner] }));
  expect(found).toMatchObject({ serial: 7n, lineage: "line" });
});

it("recognises a member whose name is escaped", () => {
  expect(scan('{"version":4,"\\u0073erial":5,"resources":[]}')).toMatchObject({ serial: 5n });
});

describe("the serial", () => {
  it.each([0n, 2n ** 53n + 1n, 2n ** 64n - 1n])("may be %s", (serial) => {
    expect(scan(`{"version":4,"serial":${serial},"resources":[]}`).serial).toBe(serial);
  });

  it.each([`${2n ** 64n}`, "-1", "1.5", "1e3", '"7"', "null", "[]", "{}"])(
    "is not %s",
    (serial) => {
      expect(problemOf(`{"version":4,"serial":${serial},"resources":[]}`)).toBe(
        '"serial" of the state is not a whole number',
      );
    },
  );
});

it.each([
  ["without a version", '{"serial":1,"resources":[]}', "not of version 4"],
  ["of version 3", '{"version":3,"serial":1,"modules":[]}', "not of version 4"],
  ["without resources", '{"version":4,"serial":1}', '"resources" of the state is not a list'],
  ["with a list as lineage", '{"version":4,"serial":1,"lineage":[],"resources":[]}', '"lineage"'],
  [
    "with a lineage of 2,000 characters",
    `{"version":4,"serial":1,"lineage":"${"x".repeat(2_000)}","resources":[]}`,
    '"lineage" of the state is not a short text',
  ],
  ["with two serials", '{"version":4,"serial":1,"serial":2,"resources":[]}', '"serial" twice'],
  [
    "with a serial that commands read as another one",
    '{"version":4,"serial":1,"SERIAL":9,"resources":[]}',
    '"serial" in another case',
  ],
  [
    "with a lineage in letters that fold",
    '{"version":4,"serial":1,"ver\u017fion":3,"resources":[]}',
    '"version" in another case',
  ],
  ["that is a list", "[4]", "it is not a JSON object, at byte 0"],
  ["that is empty", "", "in the middle"],
  ["that is cut off", '{"version":4,"serial":1', "in the middle of a value, at byte 23"],
  ["with something behind it", `${JSON.stringify(STATE)} {`, "more follows behind the state"],
  ["with crossed brackets", '{"version":4,"a":[1}', "a bracket does not match, at byte 19"],
  ["with a number of 5,000 digits", `{"a":${"1".repeat(5_000)}`, "a number is too long"],
])("refuses a state %s", (_name, text, problem) => {
  expect(problemOf(text)).toContain(problem);
});

it("takes what is nested 1,000 deep, and nothing deeper", () => {
  const nested = (depth: number): string =>
    `{"version":4,"serial":1,"resources":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  expect(problemOf(nested(1_000))).toBe("");
  expect(problemOf(nested(1_001))).toContain("nested too deep");
});

describe("against JSON.parse", () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };

  it("accepts each state, however it is divided", () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 5 }),
        fc.integer({ min: 1, max: 40 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.string({ maxLength: 80, unit: "grapheme" }),
        (value, size, serial, lineage) => {
          const text = `{"a":${value},"version":4,"lineage":${JSON.stringify(lineage)}, "serial" : ${serial},"resources":[${value}]}`;
          expect(scan(text, size)).toMatchObject({ serial, lineage });
        },
      ),
      { numRuns: 500 },
    );
  });

  it("refuses what is no JSON, and nothing else", () => {
    const damage = fc.record({
      at: fc.nat(400),
      removed: fc.nat(2),
      added: fc.string({ maxLength: 2 }),
    });
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), damage, (value, { at, removed, added }) => {
        const whole = `{"version":4,"serial":1,"resources":[],"a":[${value}, -0.5e+7, "\\u00e9\\n"]}`;
        const place = 40 + (at % (whole.length - 40));
        const text = whole.slice(0, place) + added + whole.slice(place + removed);
        const problem = problemOf(text);
        const isSyntax = problem.includes("not valid JSON");
        expect([text, isSyntax]).toEqual([text, !isJson(text)]);
      }),
      { numRuns: 3_000 },
    );
  });
});
