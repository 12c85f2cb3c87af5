import { expect, it } from "vitest";
import { matchesStack, STACK_PATTERN } from "./stack-pattern.ts";

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
