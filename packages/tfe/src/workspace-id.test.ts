import { expect, it } from "vitest";
import { readShortUlid, workspaceId } from "./workspace-id.ts";

const ULID = "01KB9ZQ4T2R5M8XW3C7D1E6F0G";

it("has 16 letters and digits behind ws-, and names one ULID alone", () => {
  const id = workspaceId(ULID);
  expect(id).toMatch(/^ws-[a-zA-Z0-9]{16}$/);
  const others = [
    // The next one of the same process, and those of other milliseconds and processes.
    "01KB9ZQ4T2R5M8XW3C7D1E6F0H",
    "01KB9ZQ4T3R5M8XW3C7D1E6F0G",
    "01KB9ZQ4T2R5M8XW3CAD1E6F0G",
  ];
  expect(new Set([id, ...others.map(workspaceId)]).size).toBe(4);
});

it.each([ULID, "00000000000000000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"])(
  "leads back to the time of its ULID, and to no other ULID: %s",
  (ulid) => {
    const found = readShortUlid(workspaceId(ulid).slice("ws-".length));
    expect(found?.start).toBe(ulid.slice(0, 10));
    expect(found?.matches(ulid)).toBe(true);
    expect(found?.matches(`${ulid.slice(0, 25)}${ulid.endsWith("1") ? "2" : "1"}`)).toBe(false);
  },
);

it("is the id of the server where that is not a ULID", () => {
  expect(workspaceId("1")).toBe("ws-1");
  expect(workspaceId(ULID.toLowerCase())).toBe(`ws-${ULID.toLowerCase()}`);
});

it.each(["", "x", ULID, "0".repeat(17), "z".repeat(16), "00000000-0000000", "000000000000000\n"])(
  "does not read %j",
  (text) => {
    expect(readShortUlid(text)).toBeUndefined();
  },
);
