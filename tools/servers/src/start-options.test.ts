import { describe, expect, it } from "vitest";
import { ServerError } from "./server-error.ts";
import { startWithFreshPorts } from "./start-options.ts";

const TAKEN = new ServerError("SERVER_START_FAILED", 'bind: "Address already in use"');

describe("startWithFreshPorts", () => {
  it("starts again when the port was taken meanwhile", async () => {
    let calls = 0;
    const result = await startWithFreshPorts(() => {
      calls += 1;
      return calls < 3 ? Promise.reject(TAKEN) : Promise.resolve("up");
    });
    expect([result, calls]).toEqual(["up", 3]);
  });

  it("gives up after three attempts", async () => {
    let calls = 0;
    const start = () => {
      calls += 1;
      return Promise.reject(TAKEN);
    };
    await expect(startWithFreshPorts(start)).rejects.toBe(TAKEN);
    expect(calls).toBe(3);
  });

  it.each([
    new ServerError("SERVER_START_FAILED", "disk full"),
    new ServerError("SERVER_START_TIMEOUT", "address already in use"),
    new Error("address already in use"),
  ])("does not repeat another failure: $message", async (error) => {
    let calls = 0;
    const start = () => {
      calls += 1;
      return Promise.reject(error);
    };
    await expect(startWithFreshPorts(start)).rejects.toBe(error);
    expect(calls).toBe(1);
  });
});
