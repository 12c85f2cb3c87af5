import { expect, it } from "vitest";
import { failureText } from "./failure-text.ts";

it("shows what failed first and what failed in the clean-up", () => {
  const text = failureText(new SuppressedError(new Error("cannot stop"), new Error("no build")));
  expect(text).toContain("failed first: Error: no build");
  expect(text).toContain("and then: Error: cannot stop");
});

it("shows all of several failures and the causes of each", () => {
  const deep = new Error("the build ended with 1", { cause: new Error("no such package") });
  const text = failureText(new AggregateError([deep, "a word"], "two failed"));
  expect(text).toContain("one of them: Error: the build ended with 1");
  expect(text).toContain("caused by: Error: no such package");
  expect(text).toContain("one of them: a word");
});

it("ends where errors refer to one another", () => {
  const first = new Error("first");
  first.cause = new Error("second", { cause: first });
  expect(failureText(first)).toContain("caused by: first (see above)");
});
