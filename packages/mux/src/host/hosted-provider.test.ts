import { ConfigureRequest, CreateRequest } from "@stackwright/proto/pulumirpc";
import { describe, expect, it, vi } from "vitest";
import { ECHO, isThere } from "../testing/programs/programs.ts";
import { hostProvider } from "./hosted-provider.ts";

const create = (name: string) =>
  CreateRequest.create({ urn: `urn:pulumi:dev::shop::echo:index:Echo::${name}` });

describe("a hosted provider", () => {
  it("comes back configured, and its provider stays the same object", async () => {
    await using hosted = await hostProvider({ ...ECHO, restart: { initialDelayMs: 1 } });
    const { provider } = hosted;
    await provider.configure(ConfigureRequest.create({}), {});
    const before = await provider.create(create("x"), {});
    await expect(provider.create(create("crash"), {})).rejects.toMatchObject({
      code: "MUX_PROCESS_CRASHED",
    });
    // Waits for the new process.
    const after = await provider.create(create("x"), {});
    expect(hosted).toMatchObject({ restarts: 1, state: "ready" });
    expect(before.id).toMatch(/configured 1$/);
    expect(after.id).toBe(`${hosted.process?.pid} configured 1`);
    expect(after.id).not.toBe(before.id);
  });

  it("stays down without a policy", async () => {
    await using hosted = await hostProvider(ECHO);
    await expect(hosted.provider.create(create("crash"), {})).rejects.toThrow();
    await vi.waitFor(() => expect(hosted.state).toBe("down"), { timeout: 10_000 });
    await expect(hosted.provider.create(create("x"), {})).rejects.toMatchObject({
      code: "MUX_PROCESS_ENDED",
    });
  });

  it("stays down when it ended too often in too short a time", async () => {
    await using hosted = await hostProvider({
      ...ECHO,
      restart: { maxRestarts: 1, initialDelayMs: 1 },
    });
    const crash = () => hosted.provider.create(create("crash"), {});
    await expect(crash()).rejects.toMatchObject({ code: "MUX_PROCESS_CRASHED" });
    await expect(crash()).rejects.toMatchObject({ code: "MUX_PROCESS_CRASHED" });
    await vi.waitFor(() => expect(hosted).toMatchObject({ state: "down", restarts: 1 }), {
      timeout: 10_000,
    });
  });

  it("is killed and comes back when it runs and does not answer", async () => {
    const warnings: string[] = [];
    await using hosted = await hostProvider({
      ...ECHO,
      restart: { initialDelayMs: 1 },
      liveness: { intervalMs: 10, timeoutMs: 300, failures: 2 },
      logger: {
        debug: () => undefined,
        info: () => undefined,
        warn: (_data, message) => warnings.push(message),
        error: () => undefined,
      },
    });
    const { pid = 0, group = 0 } = hosted.process ?? {};
    process.kill(pid, "SIGSTOP");
    await vi.waitFor(() => expect(hosted.restarts).toBe(1), { timeout: 20_000 });
    expect(warnings).toEqual(["provider process does not answer and is killed"]);
    await hosted.provider.create(create("x"), {});
    expect(hosted.process?.group).not.toBe(group);
  });

  it("is not started again when it is closed, not even during a restart", async () => {
    const hosted = await hostProvider({ ...ECHO, restart: { initialDelayMs: 60_000 } });
    const group = hosted.process?.group ?? 0;
    await expect(hosted.provider.create(create("crash"), {})).rejects.toThrow();
    await vi.waitFor(() => expect(hosted.state).toBe("restarting"), { timeout: 10_000 });
    const waiting = hosted.provider.create(create("x"), {});
    const refused = expect(waiting).rejects.toMatchObject({ code: "MUX_PROCESS_ENDED" });
    await hosted.close();
    await refused;
    expect(hosted.state).toBe("closed");
    await vi.waitFor(() => expect(isThere(-group)).toBe(false), { timeout: 10_000 });
  });
});
