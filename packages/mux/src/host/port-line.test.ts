import { describe, expect, it } from "vitest";
import { PortLine, parsePort } from "./port-line.ts";

describe("parsePort", () => {
  it.each([
    ["50051", 50_051],
    ["  7 \r", 7],
    ["\u001B[33m4242\u001B[39m", 4242],
    ["0", undefined],
    ["65536", undefined],
    ["-1", undefined],
    ["1e3", undefined],
    ["50051 ready", undefined],
    ["", undefined],
  ])("reads %j as %s", (line, port) => {
    expect(parsePort(line)).toBe(port);
  });
});

describe("PortLine", () => {
  it("takes the first line, byte by byte, and hands on what follows", async () => {
    const rest: string[] = [];
    const line = new PortLine((chunk) => rest.push(chunk.toString()));
    for (const byte of Buffer.from("12")) line.push(Buffer.of(byte));
    line.push(Buffer.from("34\nfirst "));
    line.push(Buffer.from("second"));
    expect(await line.port).toBe(1234);
    expect(rest).toEqual(["first ", "second"]);
  });

  it("gives a flood without an end of line up after a kilobyte", async () => {
    const line = new PortLine(() => undefined);
    line.push(Buffer.alloc(4096, "x"));
    await expect(line.port).rejects.toMatchObject({ code: "MUX_PROCESS_PORT_INVALID" });
  });
});
