import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROVIDER_SOURCE_ERRORS, ProviderSourceError } from "./errors.ts";

describe("errors", () => {
  it("are all listed in the README, as they are", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const rows = readme
      .split("\n")
      .filter((line) => line.startsWith("| `PROVIDER_SOURCE_"))
      .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")));
    expect(rows.map((cells) => cells.slice(1, 5))).toEqual(
      Object.entries(PROVIDER_SOURCE_ERRORS).map(([code, traits]) => [
        code,
        traits.retryable ? "yes" : "no",
        traits.grpcStatus,
        String(traits.httpStatus),
      ]),
    );
  });

  it("are distinguished from others, and by code", () => {
    const error = new ProviderSourceError("PROVIDER_SOURCE_IO", "x", { path: "x" });
    expect(ProviderSourceError.is(error)).toBe(true);
    expect(ProviderSourceError.is(error, "PROVIDER_SOURCE_IO")).toBe(true);
    expect(ProviderSourceError.is(error, "PROVIDER_SOURCE_HASH_MISMATCH")).toBe(false);
    expect(ProviderSourceError.is(new Error("PROVIDER_SOURCE_IO"))).toBe(false);
    expect(error.retryable).toBe(true);
  });

  it("of the system become ours, and others stay what they are", () => {
    const system = Object.assign(new Error("ENOSPC: no space left"), {
      syscall: "write",
      code: "ENOSPC",
    });
    const ours = ProviderSourceError.from(system, "/a");
    expect(ours).toMatchObject({
      code: "PROVIDER_SOURCE_IO",
      details: { path: "/a" },
      cause: system,
    });
    expect(ProviderSourceError.from(ours, "/b")).toBe(ours);
    const mistake = new TypeError("not a function");
    expect(ProviderSourceError.from(mistake, "/a")).toBe(mistake);
    expect(ProviderSourceError.from("thrown", "/a")).toMatchObject({ cause: "thrown" });
  });
});
