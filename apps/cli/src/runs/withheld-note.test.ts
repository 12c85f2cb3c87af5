import { expect, it } from "vitest";
import { withheldNote } from "./withheld-note.ts";

it("names some files that stay here, and the ignore file that counts", () => {
  const note = withheldNote(["a", "b", "c", "d", "e", "f", "g"]);
  expect(note).toContain('"a", "b", "c", "d", "e", and 2 more.');
  // A new .stackwrightignore would take the place of this one, with all that it leaves out.
  expect(note).toContain("in its .terraformignore where only that exists");
});
