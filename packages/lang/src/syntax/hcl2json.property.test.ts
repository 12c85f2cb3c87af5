import { parse } from "@cdktf/hcl2json";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configText } from "../testing/config-arbitrary.ts";
import type { Body } from "./ast.ts";
import { parseFile } from "./parse.ts";

/*
 * The reference parser, compiled to WebAssembly, as an oracle. Of what it makes of a file only the
 * structure is compared: it folds constant templates, makes doubles of numbers and loses the order.
 */

/** Places of arguments and blocks, such as `block.label[].arg0`. */
function paths(body: Body, prefix = ""): string[] {
  return body.items.flatMap((item) => {
    if (item.kind === "attribute") return [`${prefix}${item.name}`];
    const place = [item.type, ...item.labels.map(({ value }) => value)].join(".");
    return [`${prefix}${place}[]`, ...paths(item.body, `${prefix}${place}[].`)];
  });
}

/** The same for the oracle's result, in which blocks are arrays of objects below their labels. */
function oraclePaths(node: object, prefix = ""): string[] {
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) => {
    const place = `${prefix}${key}`;
    if (/^(?:arg\d+|one)$/.test(key)) return [place];
    if (!Array.isArray(value)) return oraclePaths(value as object, `${place}.`);
    return value.flatMap((block: object) => [`${place}[]`, ...oraclePaths(block, `${place}[].`)]);
  });
}

/**
 * What the oracle makes of a file; undefined where it refuses it. What it has read and cannot write as
 * JSON, such as blocks of one type of which some have labels and some do not, says nothing.
 */
async function oracle(text: string): Promise<object | "no JSON" | undefined> {
  try {
    return await parse("t.tf", text);
  } catch (error) {
    return String(error).includes("parse config") ? undefined : "no JSON";
  }
}

function ours(text: string): string[] | undefined {
  const { body, diagnostics } = parseFile({ name: "t.tf", text });
  return diagnostics.length > 0 ? undefined : paths(body);
}

/** How many files a test looks at. */
function runs(): number {
  return fc.readConfigureGlobal().numRuns ?? 100;
}

const mutation = fc.record({
  at: fc.nat(300),
  length: fc.nat(3),
  insert: fc.constantFrom(
    "",
    "{",
    "}",
    '"',
    "${",
    "%{",
    "(",
    "]",
    "\n",
    "=",
    ",",
    "~}",
    ".",
    " for ",
    "::",
    "*",
    "\\",
    "<<E\n",
  ),
});

describe("the parser, compared with the reference", () => {
  it("reads the same structure", { timeout: 3_600_000 }, async ({ annotate }) => {
    await annotate(`${runs()} files`, "count");
    await fc.assert(
      fc.asyncProperty(configText, async (text) => {
        const expected = await oracle(text);
        if (typeof expected !== "object") throw new Error("a generated file must be accepted");
        expect(ours(text)?.toSorted()).toEqual(oraclePaths(expected).toSorted());
      }),
    );
  });

  it("refuses the same broken files", { timeout: 3_600_000 }, async ({ annotate }) => {
    await annotate(`${runs()} broken files`, "count");
    await fc.assert(
      fc.asyncProperty(configText, mutation, async (text, { at, length, insert }) => {
        const from = at % (text.length + 1);
        const broken = text.slice(0, from) + insert + text.slice(from + length);
        fc.pre(broken.isWellFormed());
        const expected = await oracle(broken);
        fc.pre(expected !== "no JSON");
        const actual = ours(broken);
        expect(actual === undefined).toBe(expected === undefined);
      }),
    );
  });
});
