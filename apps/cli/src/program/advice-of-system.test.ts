import { expect, it } from "vitest";
import { adviceOfSystem } from "./advice-of-system.ts";

it.each([
  ["mkdir", "ENOENT", true],
  ["open", "ENOENT", false],
  ["open", "EACCES", true],
  ["rename", "EROFS", true],
  ["write", "ENOSPC", true],
  // A file in the place of a folder, and of one around it.
  ["mkdir", "EEXIST", true],
  ["mkdir", "ENOTDIR", true],
  // A port below 1024, a socket of another user, and a file that is not a program.
  ["listen", "EACCES", false],
  ["connect", "EPERM", false],
  ["spawn ./terraform", "EACCES", false],
])("advice about folders is for what writes to them: %s, %s", (syscall, code, isAdvised) => {
  const error = Object.assign(new Error(`${code}: refused, ${syscall}`), { syscall, code });
  expect(adviceOfSystem(error) !== undefined).toBe(isAdvised);
});

it("advice is also for what a better text has as its cause", () => {
  const cause = Object.assign(new Error("ENOSPC, write"), { syscall: "write", code: "ENOSPC" });
  expect(adviceOfSystem(new Error("The key file k cannot be made", { cause }))).toMatch(/no space/);
});
