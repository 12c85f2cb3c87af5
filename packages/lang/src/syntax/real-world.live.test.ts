import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { parse } from "@cdktf/hcl2json";
import { describe, expect, it } from "vitest";
import { exportJson } from "../config/export-json.ts";
import { formatFile } from "./format.ts";
import { parseJson } from "./json-parser.ts";
import { parseFile } from "./parse.ts";

/*
 * Configurations that people wrote, from folders that LANG_CONFIGURATIONS names: accepted and refused
 * as by the reference parser, formatting is idempotent, and their JSON form can be read.
 */

const FOLDERS = process.env.LANG_CONFIGURATIONS?.split(delimiter) ?? [];

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:tf|tofu)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Whether the reference parser reads a file; what it reads but cannot write as JSON counts. */
async function isAccepted(text: string): Promise<boolean> {
  try {
    await parse("t.tf", text);
    return true;
  } catch (error) {
    return !String(error).includes("parse config");
  }
}

describe("configurations of others", () => {
  it("are read as the reference parser reads them", { timeout: 3_600_000 }, async (context) => {
    context.skip(FOLDERS.length === 0, "LANG_CONFIGURATIONS names no folders");
    const files = FOLDERS.flatMap(filesIn);
    const wrong: string[] = [];
    for (const name of files) {
      const bytes = readFileSync(name);
      const file = parseFile({ name, text: bytes });
      const ours = file.diagnostics.length === 0;
      // One after the other: the oracle is one instance.
      // oxlint-disable-next-line no-await-in-loop
      if (ours !== (await isAccepted(bytes.toString("utf8"))))
        wrong.push(`${name}: accepted ${ours}`);
      if (!ours) continue;
      const { text: once = "" } = formatFile({ name, text: bytes });
      if (formatFile({ name, text: once }).text !== once) wrong.push(`${name}: formatted twice`);
      const json = parseJson({ name: `${name}.json`, text: exportJson(file).text });
      if (json.diagnostics.length > 0) wrong.push(`${name}: JSON`);
    }
    await context.annotate(`${files.length} files`, "count");
    expect(wrong).toEqual([]);
  });
});
