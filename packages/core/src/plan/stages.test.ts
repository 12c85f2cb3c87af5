import { describe, expect, it } from "vitest";
import type { Plan } from "./plan.ts";
import { MAX_STAGES, replacementsLeft, stuckBecause } from "./stages.ts";

const parts = (...addresses: string[]) => addresses.map((address) => ({ address, because: "" }));

describe("stuckBecause", () => {
  it.each([
    ["nothing is left", { stage: 1, last: [], left: [], hasChanges: false }, undefined],
    [
      "the first stage leaves something",
      { stage: 1, last: [], left: parts("a"), hasChanges: true },
      undefined,
    ],
    ["less is left", { stage: 2, last: ["a", "b"], left: parts("b"), hasChanges: true }, undefined],
    [
      "other parts came to light",
      { stage: 2, last: ["m"], left: parts("m.a", "m.b"), hasChanges: true },
      undefined,
    ],
    [
      "nothing changes",
      { stage: 2, last: ["a"], left: parts("b"), hasChanges: false },
      "stage 2 changes nothing",
    ],
    [
      "the same is left",
      { stage: 3, last: ["a"], left: parts("b", "a"), hasChanges: true },
      "stage 3 leaves all that the one before left",
    ],
    [
      "it is the last one",
      { stage: MAX_STAGES, last: ["a"], left: parts("b"), hasChanges: true },
      "stages are limited to 20",
    ],
  ])("where %s", (_, given, expected) => {
    expect(stuckBecause(given)).toBe(expected);
  });
});

it("a replacement is requested of one stage: the one that has its object", () => {
  const changes = [{ address: 't.a["x"]' }] as unknown as Plan["changes"];
  const options = { targets: [], excludes: [], replace: ['t.a["x"]', "t.b", "t.a"] };
  expect(replacementsLeft({ options, changes })).toEqual(["t.b", "t.a"]);
});
