import { StorageError } from "@stackwright/storage";
import { expect, it } from "vitest";
import { noSpaceReason } from "./no-space.ts";

const errorOf = (code: string): Error => Object.assign(new Error(`${code}: the system`), { code });

it.each(["ENOSPC", "EDQUOT"])("says for %s what to do, and what the system said", (code) => {
  expect(noSpaceReason(errorOf(code))).toMatch(/run directory.*make some.*\(\w+: the system\)$/);
});

it("finds the error of the system behind another one", () => {
  const behind = new Error("the package cannot be written", { cause: errorOf("ENOSPC") });
  expect(noSpaceReason(behind)).toContain("ENOSPC: the system");
});

it("leaves the space of the store to the store", () => {
  const cause = errorOf("ENOSPC");
  expect(noSpaceReason(new StorageError("STORAGE_QUOTA_EXCEEDED", "full", { cause }))).toBe(
    undefined,
  );
});

it.each([errorOf("EACCES"), new Error("plain"), "ENOSPC", undefined])("ignores %s", (error) => {
  expect(noSpaceReason(error)).toBe(undefined);
});
