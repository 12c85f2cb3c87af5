import { createServer } from "node:net";
import { CreateRequest } from "@stackwright/proto/pulumirpc";
import { describe, expect, it, vi } from "vitest";
import { ECHO, isThere, shell } from "../testing/programs/programs.ts";
import { startEngineHost } from "./engine-host.ts";
import type { ProcessLine } from "./launch-options.ts";
import { launchProvider } from "./launch-provider.ts";

const create = (name: string) =>
  CreateRequest.create({ urn: `urn:pulumi:dev::shop::echo:index:Echo::${name}` });

describe("a provider that starts", () => {
  it("answers calls, writes to the log, calls the engine back and ends when asked", async () => {
    const logged: unknown[] = [];
    await using engine = await startEngineHost({ onLog: (entry) => logged.push(entry) });
    const lines: ProcessLine[] = [];
    await using launched = await launchProvider({
      ...ECHO,
      engineAddress: engine.address,
      onLine: (line) => lines.push(line),
    });
    expect(launched.handshake).toMatchObject({ acceptSecrets: true });
    const request = create("log");
    const { id } = await launched.provider.create(request, {});
    expect(id).toBe(`${launched.pid} configured 0`);
    expect(logged).toEqual([{ severity: "warning", message: "created", urn: request.urn }]);
    await launched.close();
    expect(await launched.exited).toEqual({ code: 0, signal: undefined });
    expect(lines).toEqual([
      { stream: "stderr", text: "echo starts" },
      { stream: "stderr", text: "echo ends: asked" },
    ]);
    await vi.waitFor(() => expect(isThere(-launched.group)).toBe(false), { timeout: 10_000 });
  });

  it("is distinguished from one that has ended, before and during a call", async () => {
    const errors: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_: object, text: string) => errors.push(text),
    };
    await using launched = await launchProvider({ ...ECHO, logger });
    await expect(launched.provider.create(create("crash"), {})).rejects.toMatchObject({
      code: "MUX_PROCESS_CRASHED",
      status: "UNKNOWN",
      retryable: false,
    });
    expect(await launched.exited).toEqual({ code: 7, signal: undefined });
    await expect(launched.provider.create(create("x"), {})).rejects.toMatchObject({
      code: "MUX_PROCESS_ENDED",
      retryable: true,
      message: expect.stringContaining("echo starts"),
    });
    expect(errors).toEqual(["provider process ended without having been asked to"]);
  });

  it("has calls in progress canceled when it is closed", async () => {
    const launched = await launchProvider({ ...ECHO, graceMs: 400 });
    const hanging = launched.provider.create(create("hang"), {});
    const failed = expect(hanging).rejects.toMatchObject({ code: "CANCELLED" });
    await launched.close();
    await failed;
    await vi.waitFor(() => expect(isThere(-launched.group)).toBe(false), { timeout: 10_000 });
  });
});

describe("a provider that does not start", () => {
  const start = (text: string, startTimeoutMs = 20_000) =>
    launchProvider({ ...shell(text), startTimeoutMs });

  it.each([
    ["writes no port", "echo ready to serve", "MUX_PROCESS_PORT_INVALID"],
    ["floods its first line", "yes x | tr -d '\\n'", "MUX_PROCESS_PORT_INVALID"],
    ["writes nothing", "sleep 600", "MUX_PROCESS_START_TIMEOUT"],
    ["has no server behind its port", "echo 1; sleep 600", "MUX_PROCESS_START_TIMEOUT"],
    ["ends", "echo broken >&2; exit 4", "MUX_PROCESS_ENDED"],
    ["ends after its port", "echo 1; exit 4", "MUX_PROCESS_ENDED"],
  ])("is an error of its own where it %s", async (_what, text, code) => {
    const startTimeoutMs = code === "MUX_PROCESS_START_TIMEOUT" ? 400 : 20_000;
    await expect(start(text, startTimeoutMs)).rejects.toMatchObject({ code });
  });

  it("is quoted with its last lines", async () => {
    await expect(start("echo no licence >&2; exit 4")).rejects.toThrow(/code 4.*\nno licence/s);
  });

  it("is given up when what is behind its port speaks no gRPC", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write("220 mail.example.com ESMTP\r\n".repeat(100));
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
    });
    try {
      await expect(start(`echo ${port}; sleep 600`, 1500)).rejects.toMatchObject({
        code: "MUX_PROCESS_START_TIMEOUT",
        message: expect.stringContaining("accepted no gRPC connection"),
      });
    } finally {
      server.close();
    }
  });

  it("leaves nothing behind", async () => {
    const pids: number[] = [];
    const onLine = ({ text }: ProcessLine) => void pids.push(Number(text));
    const launch = launchProvider({
      ...shell("sleep 600 & echo $! >&2; echo $$ >&2; wait"),
      onLine,
      startTimeoutMs: 1500,
    });
    await expect(launch).rejects.toMatchObject({ code: "MUX_PROCESS_START_TIMEOUT" });
    expect(pids).toHaveLength(2);
    await vi.waitFor(() => expect(pids.filter(isThere)).toEqual([]), { timeout: 10_000 });
  });

  it("rejects with the reason of a signal, and is gone", async () => {
    const controller = new AbortController();
    const reason = new Error("no longer wanted");
    const launch = launchProvider({
      ...shell("sleep 600"),
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(reason), 50);
    await expect(launch).rejects.toBe(reason);
  });

  it.each([
    ["there is no such file", "/no/such/program"],
    ["there is none in PATH", "no-such-program-anywhere"],
    ["it is a folder", "/"],
    ["it is not executable", import.meta.filename],
  ])("is known before anything is started where %s", async (_why, command) => {
    await expect(launchProvider({ command })).rejects.toMatchObject({
      code: "MUX_PROCESS_NOT_FOUND",
    });
  });

  it("is refused for a time that is none", async () => {
    await expect(launchProvider({ command: "sh", graceMs: Number.NaN })).rejects.toMatchObject({
      code: "MUX_OPTIONS_INVALID",
    });
  });
});

it("drains a flood of output without keeping it", async () => {
  let count = 0;
  const text = "echo 1; yes 0123456789012345678901234567890123456789012345678901234567890123456789";
  const launch = launchProvider({
    ...shell(text),
    onLine: () => void (count += 1),
    startTimeoutMs: 1500,
  });
  await expect(launch).rejects.toMatchObject({ code: "MUX_PROCESS_START_TIMEOUT" });
  expect(count).toBeGreaterThan(1000);
});
