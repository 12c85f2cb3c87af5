import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it } from "vitest";
import type { HostSlot } from "../host-client.ts";
import { createMux } from "../mux.ts";
import { ECHO } from "../testing/programs/programs.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { attachProvider } from "./attach-provider.ts";
import { startEngineHost } from "./engine-host.ts";
import { launchProvider } from "./launch-provider.ts";
import { runProvider } from "./run-provider.ts";

/** Runs a provider in this process; resolves with its port. */
function run(options: {
  argv: readonly string[];
  healthIntervalMs?: number;
  engineTimeoutMs?: number;
  signal?: AbortSignal;
  onHost?: (host: HostSlot) => void;
}) {
  const announced = deferred<number>();
  const { onHost, ...rest } = options;
  const done = runProvider(
    (host) => {
      onHost?.(host);
      return unimplementedProvider();
    },
    { ...rest, stopSignals: [], announce: (line) => announced.resolve(Number(line)) },
  );
  done.catch(announced.reject);
  announced.promise.catch(() => undefined);
  return { port: announced.promise, done };
}

describe("a provider process", () => {
  it("ends when its engine has gone", async () => {
    const engine = await startEngineHost();
    const { port, done } = run({ argv: [engine.address], healthIntervalMs: 30 });
    expect(await port).toBeGreaterThan(0);
    await engine.close();
    expect(await done).toBe("engine-gone");
  });

  it("really ends, with the engine, when it is a process of its own", async () => {
    const engine = await startEngineHost();
    await using launched = await launchProvider({
      ...ECHO,
      engineAddress: engine.address,
      env: { ECHO_HEALTH_INTERVAL_MS: "30" },
    });
    await engine.close();
    expect(await launched.exited).toEqual({ code: 0, signal: undefined });
  });

  it("ends when it is asked to", async () => {
    const controller = new AbortController();
    const { port, done } = run({ argv: [], signal: controller.signal });
    await port;
    controller.abort();
    expect(await done).toBe("asked");
  });

  it("follows Attach to another engine", async () => {
    const logged: string[] = [];
    await using second = await startEngineHost({ onLog: ({ message }) => logged.push(message) });
    const controller = new AbortController();
    let slot: HostSlot | undefined;
    const { port, done } = run({
      argv: [],
      signal: controller.signal,
      onHost: (host) => {
        slot = host;
      },
    });
    await using attached = await attachProvider({
      port: await port,
      engineAddress: second.address,
    });
    await slot?.log({ severity: "info", message: "hello" });
    expect(logged).toEqual(["hello"]);
    await attached.close();
    controller.abort();
    await done;
  });

  it("does not start for an engine that is not there", async () => {
    const engine = await startEngineHost();
    await engine.close();
    const { done } = run({ argv: [engine.address], engineTimeoutMs: 100 });
    await expect(done).rejects.toMatchObject({ code: "MUX_ENGINE_UNREACHABLE" });
  });
});

it("a mux dials the engine of Attach, and its servers see it", async () => {
  const logged: string[] = [];
  await using engine = await startEngineHost({ onLog: ({ message }) => logged.push(message) });
  let host: HostSlot | undefined;
  await using mux = await createMux({
    servers: [
      {
        name: "one",
        connect: (slot) => {
          host = slot;
          const schema = JSON.stringify({ name: "one" });
          return { ...unimplementedProvider(), getSchema: async () => ({ schema }) };
        },
      },
    ],
  });
  await host?.log({ severity: "info", message: "nobody hears this" });
  await mux.attach({ address: engine.address }, {});
  await host?.log({ severity: "info", message: "hello" });
  expect(logged).toEqual(["hello"]);
  await host?.close();
});
