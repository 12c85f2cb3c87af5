import { expect, it } from "vitest";
import {
  isForProject,
  matchesPlace,
  matchesStack,
  PLACE_PATTERN,
  SET_STACK_PATTERN,
  STACK_PATTERN,
} from "./stack-pattern.ts";

it.each([
  ["web", "web", true],
  ["web", "web-1", false],
  ["web", "we", false],
  ["*", "", true],
  ["*", "web", true],
  ["web-*", "web-", true],
  ["web-*", "web-1", true],
  ["web-*", "my-web-1", false],
  ["*-prod", "web-prod", true],
  ["*-prod", "web-prod-1", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["*ab*ab", "ab", false],
  ["*ab*ab", "abab", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["a.c", "abc", false],
])("%s stands for %s: %s", (pattern, name, expected) => {
  expect(matchesStack(pattern, name)).toBe(expected);
});

it("the longest pattern with many wildcards is decided without trying all ways", () => {
  const pattern = "a*".repeat(63);
  expect(new RegExp(STACK_PATTERN).test(pattern)).toBe(true);
  expect(matchesStack(`${pattern}b`, "a".repeat(128))).toBe(false);
});

it.each([
  ["shop", true],
  ["sh*", true],
  ["web/shop", true],
  ["w*/s*", true],
  ["web/*", true],
  ["*/shop", true],
  ["net/shop", false],
  ["net/*", false],
  ["web/site", false],
  ["web", false],
  ["/", false],
])("%s stands for the stack shop of web: %s", (pattern, expected) => {
  expect(matchesPlace(pattern, { project: "web", name: "shop" })).toBe(expected);
});

it.each([
  ["shop", true],
  ["web/shop", true],
  ["w*/shop", true],
  ["net/shop", false],
  ["/", false],
])("%s may be for stacks of web: %s", (pattern, expected) => {
  expect(isForProject(pattern, "web")).toBe(expected);
});

it.each([
  ["shop", true, true],
  ["/", true, true],
  ["web/shop", false, true],
  ["web/*", false, true],
  ["web/", false, false],
  ["/shop", false, false],
  ["//", false, false],
  ["a/b/c", false, false],
  ["", false, false],
  ["a\n", false, false],
])("%j is a pattern of a set of a project: %s, of the account: %s", (pattern, own, account) => {
  expect(new RegExp(SET_STACK_PATTERN).test(pattern)).toBe(own);
  expect(new RegExp(PLACE_PATTERN).test(pattern)).toBe(account);
});
