import { describe, expect, it } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

describe("a unified difference", () => {
  it("is empty between equal texts", () => {
    expect(unifiedDiff("a", "x\ny\n", "x\ny\n")).toBe("");
  });

  it("shows three lines around a change, and two hunks for two distant changes", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
    const changed = lines.with(3, "four").with(16, "seventeen");
    expect(unifiedDiff("f", lines.join("\n"), changed.join("\n"))).toBe(`--- old/f
+++ new/f
@@ -1,7 +1,7 @@
 line 1
 line 2
 line 3
-line 4
+four
 line 5
 line 6
 line 7
@@ -14,7 +14,7 @@
 line 14
 line 15
 line 16
-line 17
+seventeen
 line 18
 line 19
 line 20
`);
  });
});
