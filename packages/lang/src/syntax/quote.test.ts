import { describe, expect, test } from "vitest";
import { quoteLiteral } from "./quote.ts";

describe("a text between quotes", () => {
  test.each([
    ["plain", "plain"],
    ['a "b" \\ c', '\\"b\\" \\\\ c'.replace(/^/, "a ")],
    ["\n\r\t", "\\n\\r\\t"],
    ["${a} $a $${b} %{c} %d $", "$${a} $a $$${b} %%{c} %d $"],
    ["\u001b[31m", "\\u001b[31m"],
    ["\u{e000}\u{f0000}", "\\ue000\\U000f0000"],
    ["\ud800x", "\\ud800x"],
    ["ü 漢 🙂", "ü 漢 🙂"],
  ])("escapes %j", (text, expected) => {
    expect(quoteLiteral(text)).toBe(expected);
  });

  test("takes no memory per character of a long one", () => {
    const text = "0123456789".repeat(500_000);
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    const quoted = quoteLiteral(`${text}"`);
    const used = process.memoryUsage().heapUsed - before;
    expect(quoted).toHaveLength(text.length + 2);
    expect(used).toBeLessThan(text.length * 8);
  });
});
