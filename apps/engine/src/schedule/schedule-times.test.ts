import { describe, expect, it } from "vitest";
import { checkTimes, nextTime } from "./schedule-times.ts";

const at = (text: string) => Date.parse(text);
const NOW = at("2026-11-24T00:00:00Z");

describe("the times of a schedule", () => {
  it("are those of the clocks of its zone", () => {
    const times = { cron: "0 3 * * *", zone: "Europe/Berlin" };
    expect(nextTime(times, at("2026-11-24T01:59:59Z"))).toBe(at("2026-11-24T02:00:00Z"));
    expect(nextTime(times, at("2026-11-24T02:00:00Z"))).toBe(at("2026-11-25T02:00:00Z"));
    expect(nextTime(times, at("2026-07-01T00:00:00Z"))).toBe(at("2026-07-01T01:00:00Z"));
  });

  it("lie behind the hour that is skipped, and are due once in the hour that comes twice", () => {
    const times = { cron: "30 2 * * *", zone: "Europe/Berlin" };
    expect(nextTime(times, at("2027-03-27T12:00:00Z"))).toBe(at("2027-03-28T01:00:00Z"));
    const first = nextTime(times, at("2027-10-30T12:00:00Z")) ?? 0;
    expect(first).toBe(at("2027-10-31T00:30:00Z"));
    expect(nextTime(times, first)).toBe(at("2027-11-01T01:30:00Z"));
  });

  it.each(["*/5 * * * *", "0,5 * * * *", "@daily", "0 0 29 2 *", "0 9 * * MON#1"])(
    "may be %j",
    (cron) => {
      expect(() => checkTimes({ cron, zone: "UTC" }, NOW)).not.toThrow();
    },
  );

  it.each([
    ["* * * * *", /at least 5 minutes/],
    ["0,4 * * * *", /2026-11-24T01:00:00.000Z and again at 2026-11-24T01:04:00.000Z/],
    ["*/7 * * * *", /at least 5 minutes/],
    ["59 23 31 12 *", undefined],
    ["0 0 30 2 *", /never due/],
    ["0 0 31 4,6,9,11 *", /never due/],
    ["", /five fields/],
    ["0 3 * *", /five fields/],
    ["0 0 3 * * *", /five fields/],
    ["61 * * * *", /five fields/],
    ["0 3 * * * ; rm", /five fields/],
    ["x".repeat(10_000), /five fields/],
  ])("are checked: %j", (cron, message) => {
    const check = () => checkTimes({ cron, zone: "UTC" }, NOW);
    if (message === undefined) expect(check).not.toThrow();
    else expect(check).toThrow(message);
  });

  it.each(["", "Nope/Nowhere", "../etc", "CET+99"])("need a zone: not %j", (zone) => {
    expect(() => checkTimes({ cron: "0 3 * * *", zone }, NOW)).toThrow(/not a valid time zone/);
  });
});
