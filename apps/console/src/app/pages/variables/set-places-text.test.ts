import { expect, it } from "vitest";
import { setPlacesText } from "./set-places-text.ts";

it.each<[readonly string[], readonly string[], string]>([
  [[], [], "all stacks"],
  [["web"], [], "all stacks of projects web"],
  [[], ["/"], "no stacks"],
  [["web"], ["/"], "no stacks"],
  [[], ["web/shop", "net/db-*"], "stacks web/shop, net/db-*"],
  [[], ["net/*", "web/*"], "all stacks of projects net, web"],
  [[], ["web/shop", "net/*"], "stacks web/shop; all stacks of projects net"],
  [[], ["prod-*"], "stacks prod-* of all projects"],
  [[], ["prod-*", "web/shop"], "stacks web/shop; stacks prod-* of all projects"],
  [["web"], ["web/shop"], "stacks web/shop of projects web"],
])("says what a set is for: projects %j, stacks %j", (projects, stacks, text) => {
  expect(setPlacesText({ projects: [...projects], stacks: [...stacks] })).toBe(text);
});
