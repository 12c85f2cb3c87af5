import { expect, test } from "vitest";
import { SigningError } from "./errors.ts";

test("an error says what its code means, and the detail where it has one", () => {
  expect(new SigningError("SIGNING_MISMATCH").message).toBe(
    "unknown access key or wrong signature",
  );
  expect(new SigningError("SIGNING_MISMATCH", "key AK").message).toBe(
    "unknown access key or wrong signature: key AK",
  );
});

test("a request is worth repeating only where the guard was full", () => {
  expect(new SigningError("SIGNING_REPLAY_GUARD_FULL").retryable).toBe(true);
  expect(new SigningError("SIGNING_REPLAYED").retryable).toBe(false);
});
