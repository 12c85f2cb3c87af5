import { describe, expect, it } from "vitest";
import { EVENT_BYTES, fittingEvent } from "./fitting-event.ts";

const LONG = "\u0000".repeat(EVENT_BYTES);

describe("an event that is too long", () => {
  it("says still what is wrong, how bad it is, and where", () => {
    const place = { file: "main.tf", line: 7, address: "a.b" };
    const fitting = fittingEvent({
      type: "diagnostic",
      severity: "error",
      code: "PROVIDER",
      summary: "The provider refused it",
      detail: `<html>${LONG}`,
      snippet: { code: LONG },
      ...place,
    });
    expect(fitting).toMatchObject({
      severity: "error",
      summary: "The provider refused it",
      detail: expect.stringMatching(/^<html>.*… \(cut\)$/s),
      ...place,
      cut: true,
    });
    expect(fitting).not.toHaveProperty("snippet");
  });

  it("has the beginning of a line of a program", () => {
    const event = { type: "provision-output", address: "a.b", provisioner: "local-exec" };
    expect(fittingEvent({ ...event, line: `first ${LONG}` })).toMatchObject({
      ...event,
      line: expect.stringMatching(/^first /),
    });
  });

  it("fits, whatever is too long in it", () => {
    const names = ["severity", "code", "summary", "detail", "address", "file", "line", "text"];
    const texts = Object.fromEntries(names.map((name) => [name, LONG]));
    for (const type of ["diagnostic", "log", "provision-output", "step-end"]) {
      const fitting = fittingEvent({ type, ...texts });
      expect(Buffer.byteLength(JSON.stringify(fitting))).toBeLessThan(EVENT_BYTES);
    }
  });

  it("has its type alone where nothing in it explains something", () => {
    expect(fittingEvent({ type: "step-end", address: "a.b", id: LONG })).toEqual({
      type: "step-end",
      cut: true,
    });
  });
});

it("another one stays as it is", () => {
  const event = { type: "log", line: "x" };
  expect(fittingEvent(event)).toBe(event);
});
