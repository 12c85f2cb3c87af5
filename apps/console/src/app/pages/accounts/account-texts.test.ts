import { expect, it } from "vitest";
import { changedTexts, mergedTexts } from "./account-texts.ts";

const base = { display_name: "Shop", description: "sells" };

it("a change names what differs alone, also what is empty now", () => {
  expect(changedTexts(base, base)).toEqual({});
  expect(changedTexts(base, { ...base, display_name: "" })).toEqual({ display_name: "" });
  expect(changedTexts(base, { ...base, description: "buys" })).toEqual({ description: "buys" });
});

it("a draft keeps what the user changed, and takes over what others did", () => {
  const draft = { ...base, description: "mine" };
  const now = { display_name: "The shop", description: "theirs" };
  expect(mergedTexts(base, draft, now)).toEqual({
    display_name: "The shop",
    description: "mine",
  });
});
