import type * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import { diagnosticsFromWire } from "./replies.ts";

const one = (severity: number, summary = "s"): t6.Diagnostic => ({
  severity: severity as t6.Diagnostic_Severity,
  summary,
  detail: "d",
  attribute: undefined,
});

describe("diagnostics of a reply", () => {
  it("are errors, unless they are warnings", () => {
    const severities = diagnosticsFromWire([one(1), one(2), one(0), one(9)]);
    expect(severities.map(({ severity }) => severity)).toEqual([
      "error",
      "warning",
      "error",
      "error",
    ]);
  });

  it("have an end, and what is left out keeps its severity", () => {
    const warnings = Array.from({ length: 500 }, () => one(2));
    expect(diagnosticsFromWire(warnings)).toHaveLength(500);
    const more = diagnosticsFromWire([...warnings, one(2)]);
    expect(more).toHaveLength(501);
    expect(more.at(-1)).toMatchObject({ severity: "warning" });
    const hidden = diagnosticsFromWire([...warnings, one(2), one(1)]);
    expect(hidden).toHaveLength(501);
    expect(hidden.at(-1)).toMatchObject({
      severity: "error",
      detail: "The provider sent 502 in one reply; the first 500 are shown.",
    });
  });
});
