import { describe, expect, it } from "vitest";
import type { HostLogEntry } from "../host-client.ts";
import { dialEngine } from "./engine-client.ts";
import { startEngineHost } from "./engine-host.ts";

describe("the engine host and its client", () => {
  it("carry every part of a log entry", async () => {
    const logged: HostLogEntry[] = [];
    await using engine = await startEngineHost({ onLog: (entry) => logged.push(entry) });
    await using client = await dialEngine(engine.address);
    const entries: HostLogEntry[] = [
      { severity: "debug", message: "a" },
      { severity: "info", message: "b", urn: "urn:pulumi:s::p::t::n" },
      { severity: "warning", message: "c", streamId: 7 },
      { severity: "error", message: "d", ephemeral: true },
    ];
    for (const entry of entries) await client.log(entry);
    expect(logged).toEqual(entries);
  });

  it("know the root resource, also after it was set", async () => {
    await using engine = await startEngineHost();
    await using client = await dialEngine(engine.address);
    expect(await client.getRootResource()).toBe("");
    await client.setRootResource("urn:root");
    expect([await client.getRootResource(), engine.rootResource]).toEqual(["urn:root", "urn:root"]);
  });

  it("report whether the engine is alive", async () => {
    const engine = await startEngineHost();
    await using client = await dialEngine(engine.address, { timeoutMs: 1000 });
    expect(await client.isAlive()).toBe(true);
    await engine.close();
    expect(await client.isAlive()).toBe(false);
  });

  it("report that no engine listens", async () => {
    const engine = await startEngineHost();
    await engine.close();
    await expect(dialEngine(engine.address, { timeoutMs: 100 })).rejects.toMatchObject({
      code: "MUX_ENGINE_UNREACHABLE",
      retryable: true,
    });
  });

  it("leave with the reason of a signal", async () => {
    const reason = new Error("no longer wanted");
    const dial = dialEngine("127.0.0.1:1", { signal: AbortSignal.abort(reason) });
    await expect(dial).rejects.toBe(reason);
  });
});
