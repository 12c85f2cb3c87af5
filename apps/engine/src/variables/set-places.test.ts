import { describe, expect, it } from "vitest";
import {
  accountPlaces,
  isSinglePattern,
  isWholePattern,
  projectPlaces,
  storedAccountPlaces,
  storedProjectPlaces,
  withoutPlaces,
  withPlaces,
} from "./set-places.ts";

const shop = { project: "web", stack: "shop" };
const net = { project: "net", stack: undefined };

describe("a set of the account", () => {
  it.each([
    [[], ["/"], []],
    [[], ["web/shop", "net/*"], [shop, net]],
    [["net"], [], [net]],
    [[], [], undefined],
    [[], ["shop"], undefined],
    [[], ["*"], undefined],
    [[], ["w*/shop"], undefined],
    [[], ["web/s*"], undefined],
    [[], ["*/*"], undefined],
    [["n*"], [], undefined],
    [["net"], ["net/vpc"], undefined],
    [["net"], ["/"], undefined],
  ])("for the projects %j and the stacks %j is attached to %j", (projects, stacks, expected) => {
    expect(accountPlaces({ projects, stacks })).toEqual(expected);
  });

  it("is stored with what it is attached to, and without anything for none", () => {
    expect(storedAccountPlaces([shop, net])).toEqual({
      projects: [],
      stacks: ["web/shop", "net/*"],
    });
    expect(storedAccountPlaces([])).toEqual({ projects: [], stacks: ["/"] });
  });
});

describe("a set of a project", () => {
  const all = { project: "web", stack: undefined };
  it.each([
    [[], [all]],
    [["/"], []],
    [["shop"], [shop]],
    [
      ["*", "shop"],
      [all, shop],
    ],
    [["sh*"], undefined],
  ])("for the stacks %j is attached to %j", (stacks, expected) => {
    expect(projectPlaces("web", { stacks })).toEqual(expected);
  });

  it("is stored with what it is attached to, and without anything for none", () => {
    expect([[], [all], [shop], [all, shop]].map(storedProjectPlaces)).toEqual([
      { stacks: ["/"] },
      { stacks: [] },
      { stacks: ["shop"] },
      { stacks: ["*", "shop"] },
    ]);
  });
});

it("places are added once, and removed alone", () => {
  expect(withPlaces([shop], [{ ...shop }, net])).toEqual([shop, net]);
  expect(withoutPlaces([shop, net], [{ ...net }, { project: "net", stack: "shop" }])).toEqual([
    shop,
  ]);
});

it("patterns are for whole projects, for single stacks, or for none", () => {
  const patterns = ["*", "web/*", "w*/*", "web/shop", "shop", "s*", "/"];
  expect(patterns.filter(isWholePattern)).toEqual(["*", "web/*", "w*/*"]);
  expect(patterns.filter(isSinglePattern)).toEqual(["web/shop", "shop", "s*"]);
});
