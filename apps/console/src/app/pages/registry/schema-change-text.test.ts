import { expect, it } from "vitest";
import { changeText, type SchemaChange, typeTitle } from "./schema-change-text.ts";

const change = (over: Partial<SchemaChange>): SchemaChange => ({
  of: "resource",
  name: "notes_note",
  path: "",
  change: "added",
  before: "",
  after: "",
  breaks: false,
  ...over,
});

it.each<[Partial<SchemaChange>, string]>([
  [{}, "is new"],
  [{ after: "string, required" }, "is new: string, required"],
  [{ change: "removed" }, "is gone"],
  [{ change: "type", before: "string", after: "number" }, "is number, was string"],
  [{ change: "mode", before: "optional", after: "required" }, "is required, was optional"],
  [{ change: "sensitive", before: "no", after: "yes" }, "is sensitive now"],
  [{ change: "deprecated", before: "yes", after: "no" }, "was deprecated before"],
  [
    { change: "version", before: "9", after: "10" },
    "stored objects are upgraded from version 9 to 10",
  ],
  [
    { change: "version", before: "10", after: "9" },
    "stored objects of version 10 cannot be read: it knows 9",
  ],
])("says %j in words", (over, text) => {
  expect(changeText(change(over))).toBe(text);
});

it("names what changed", () => {
  expect(typeTitle(change({}))).toBe("resource notes_note");
  expect(typeTitle(change({ of: "provider", name: "" }))).toBe("configuration of the provider");
});
