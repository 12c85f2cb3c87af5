import { describe, expect, it } from "vitest";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { openReloadingTransport } from "./reloading-transport.ts";

/** A provider that notes its calls, and answers with its number. */
function numbered(number: number, calls: string[], gate?: Promise<void>): PluginTransport {
  const close = async (): Promise<void> => {
    calls.push(`${number} closed`);
    return Promise.resolve();
  };
  return {
    protocol: 6,
    async unary(method, request) {
      calls.push(`${number} ${method} ${Buffer.from(request).toString()}`.trim());
      if (method === "ReadResource") await gate;
      return Buffer.from(String(number));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const text = async (reply: Promise<Uint8Array>) => Buffer.from(await reply).toString();
const NOTHING = new Uint8Array();

describe("a reloading transport", () => {
  it("gives the last configuration to the next process, and ends the one before when it is idle", async () => {
    const calls: string[] = [];
    const gate = Promise.withResolvers<void>();
    let started = 0;
    const transport = await openReloadingTransport({
      start: async () => {
        started += 1;
        return Promise.resolve(numbered(started, calls, gate.promise));
      },
    });
    await transport.unary("ConfigureProvider", Buffer.from("settings"), {});
    const reading = transport.unary("ReadResource", NOTHING, {});
    expect(await transport.reload()).toBe(true);
    expect(await text(transport.unary("GetProviderSchema", NOTHING, {}))).toBe("2");
    expect(calls).not.toContain("1 closed");
    gate.resolve();
    expect(await text(reading)).toBe("1");
    await transport.close();
    expect(calls).toEqual([
      "1 ConfigureProvider settings",
      "1 ReadResource",
      "2 ConfigureProvider settings",
      "2 GetProviderSchema",
      "1 closed",
      "2 closed",
    ]);
  });

  it("keeps the process that it has where the next one does not start", async () => {
    const problems: string[] = [];
    let started = 0;
    await using transport = await openReloadingTransport({
      start: async () => {
        started += 1;
        if (started === 2) throw new Error("syntax error");
        return Promise.resolve(numbered(started, []));
      },
      onProblem: (error) => problems.push(String(error)),
    });
    expect(await transport.reload()).toBe(false);
    expect(problems).toEqual(["Error: syntax error"]);
    expect(await text(transport.unary("GetProviderSchema", NOTHING, {}))).toBe("1");
    expect(await transport.reload()).toBe(true);
    expect(await text(transport.unary("GetProviderSchema", NOTHING, {}))).toBe("3");
  });

  it("starts again for the call after the one in which the process died", async () => {
    let started = 0;
    await using transport = await openReloadingTransport({
      start: async () => {
        started += 1;
        const sound = numbered(started, []);
        if (started > 1) return Promise.resolve(sound);
        const dies = async () =>
          Promise.reject(new TfpluginError("TFPLUGIN_PROCESS_CRASHED", "it died"));
        return Promise.resolve({ ...sound, unary: dies });
      },
    });
    await expect(transport.unary("ReadResource", NOTHING, {})).rejects.toThrow("it died");
    expect(await text(transport.unary("GetProviderSchema", NOTHING, {}))).toBe("2");
  });

  it("starts again after a client asked it to stop, and refuses calls after its end", async () => {
    let started = 0;
    const transport = await openReloadingTransport({
      start: async () => {
        started += 1;
        return Promise.resolve(numbered(started, []));
      },
    });
    await transport.unary("StopProvider", NOTHING, {});
    expect(await text(transport.unary("GetProviderSchema", NOTHING, {}))).toBe("2");
    await transport.close();
    await expect(transport.unary("GetProviderSchema", NOTHING, {})).rejects.toMatchObject({
      code: "TFPLUGIN_CLOSED",
    });
    expect(await transport.reload()).toBe(false);
  });
});
