import { describe, expect, it } from "vitest";
import { createStyle } from "./style.ts";
import { wrapWords } from "./wrap-words.ts";

describe("wrapWords", () => {
  it("breaks prose at blanks and indents what follows", () => {
    expect(wrapWords("one two three\nfour", 9)).toBe("one two\n    three\nfour");
  });

  it("continues comments of a plan as comments", () => {
    expect(wrapWords("  # module.a.b will be created", 20)).toBe(
      "  # module.a.b will\n  #   be created",
    );
  });

  it("does not leave the sign of a comment alone", () => {
    expect(wrapWords("  # module.a.b will be created", 8)).toBe(
      "  # module.a.b\n  #   will\n  #   be\n  #   created",
    );
  });

  it("leaves values as they are", () => {
    const value = '      + text = "some words that go on"';
    expect(wrapWords(value, 20)).toBe(value);
  });

  it("does not count colours", () => {
    const style = createStyle(true);
    const line = `${style.paint("strong", "Plan:")} 1 to add`;
    expect(wrapWords(line, 14)).toBe(line);
    expect(wrapWords(line, 12)).toBe(`${style.paint("strong", "Plan:")} 1 to\n    add`);
  });

  it("keeps what has no blank in one piece, and does nothing without a terminal", () => {
    expect(wrapWords("a_very_long_word and", 5)).toBe("a_very_long_word\n    and");
    expect(wrapWords("one two three", Number.POSITIVE_INFINITY)).toBe("one two three");
  });
});
