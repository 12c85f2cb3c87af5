import { expect, it } from "vitest";
import { cannotAsk } from "./cannot-ask.ts";

it.each([
  [{ mayAsk: true }, {}, "input and output have to be a terminal."],
  [{ mayAsk: false }, {}, "TF_INPUT allows none."],
  [{ mayAsk: false }, { input: false }, "-input=false allows none."],
  [{ mayAsk: true }, { json: true }, "the output is JSON."],
])("says why no question can be asked: %j %j", (terminal, options, why) => {
  const error = cannotAsk(terminal, {
    need: "Approval is required",
    advice: "Use --yes.",
    ...options,
  });
  expect(error.message).toBe(`Approval is required, but no question can be asked: ${why}`);
  expect(error.advice).toBe("Use --yes.");
});
