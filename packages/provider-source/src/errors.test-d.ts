import { describe, expectTypeOf, it } from "vitest";
import type { LockProblem } from "./errors.ts";
import { ProviderSourceError } from "./errors.ts";

describe("errors", () => {
  it("narrow their details with their code", () => {
    const error: unknown = undefined;
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_LOCK_FILE_INVALID")) {
      expectTypeOf(error.code).toEqualTypeOf<"PROVIDER_SOURCE_LOCK_FILE_INVALID">();
      expectTypeOf(error.details.problems).toEqualTypeOf<readonly LockProblem[]>();
    }
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_IO")) {
      expectTypeOf(error.details).toEqualTypeOf<{ readonly path: string }>();
    }
  });

  it("demand the details of their code", () => {
    // @ts-expect-error the details of another code
    void new ProviderSourceError("PROVIDER_SOURCE_IO", "x", { input: "x" });
  });
});
