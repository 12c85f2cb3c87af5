import { describe, expect, it } from "vitest";
import { MAX_STAGES, stuckBecause } from "./stages.ts";

const parts = (...addresses: string[]) => addresses.map((address) => ({ address, because: "" }));

describe("stuckBecause", () => {
  it.each([
    ["nothing is left", { stage: 1, last: [], left: [], hasChanges: false }, undefined],
    [
      "the first stage leaves something",
      { stage: 1, last: [], left: parts("a"), hasChanges: true },
      undefined,
    ],
    [
      "less is left",
      { stage: 2, last: parts("a", "b"), left: parts("b"), hasChanges: true },
      undefined,
    ],
    [
      "other parts came to light",
      { stage: 2, last: parts("m"), left: parts("m.a", "m.b"), hasChanges: true },
      undefined,
    ],
    [
      "nothing changes",
      { stage: 2, last: parts("a"), left: parts("b"), hasChanges: false },
      "stage 2 changes nothing",
    ],
    [
      "the same is left",
      { stage: 3, last: parts("a"), left: parts("b", "a"), hasChanges: true },
      "stage 3 leaves all that the one before left",
    ],
    [
      "it is the last one",
      { stage: MAX_STAGES, last: parts("a"), left: parts("b"), hasChanges: true },
      "stages are limited to 20",
    ],
  ])("where %s", (_, given, expected) => {
    expect(stuckBecause(given)).toBe(expected);
  });
});
