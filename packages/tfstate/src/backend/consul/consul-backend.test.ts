import { describe, expect, it } from "vitest";
import { startFakeConsul } from "../../testing/fake-consul.ts";
import { record } from "../../testing/real-root-module.ts";
import { BackendArguments } from "../backend-arguments.ts";
import { consulBackend } from "./consul-backend.ts";

const text = (name: string): Buffer => Buffer.from(name);

async function start(options: Parameters<typeof startFakeConsul>[0] = {}) {
  const address = await startFakeConsul(options);
  const open = (further: object = {}) =>
    consulBackend(new BackendArguments("consul", { address, path: "states/app", ...further }, {}), {
      directory: "/",
      env: {},
    });
  const keyValue = async (): Promise<string | undefined> =>
    (await open().read("default"))?.toString();
  return { address, open, keyValue };
}

describe("a state in a key of Consul", () => {
  it("is made once by two commands without locks that both saw none", async () => {
    const { open, keyValue } = await start();
    await using first = open({ lock: false });
    await using second = open({ lock: false });
    for (const backend of [first, second]) expect(await backend.read("default")).toBeUndefined();
    await first.write("default", text("first"));
    await expect(second.write("default", text("second"))).rejects.toThrow("another command");
    expect(await keyValue()).toBe("first");
    await first.write("default", text("again"));
    expect(await keyValue()).toBe("again");
  });

  it("is not written once the session of its lock has ended", async () => {
    const { address, open, keyValue } = await start({ lockDelayMs: 0 });
    await using backend = open();
    const held = await backend.lock("default", record());
    await backend.read("default");
    await backend.write("default", text("first"));
    await fetch(`http://${address}/v1/session/destroy/${held.id}`, { method: "PUT" });
    await using other = open();
    const theirs = await other.lock("default", record());
    await expect(backend.write("default", text("second"))).rejects.toThrow("lock of the state");
    const large = Buffer.alloc(1_500_000, "x");
    await expect(backend.write("default", large)).rejects.toThrow("lock of the state");
    expect(await keyValue()).toBe("first");
    await other.read("default");
    await other.write("default", text("theirs"));
    expect(await keyValue()).toBe("theirs");
    await theirs.release();
  });

  it("is free as soon as its lock is released, without the delay of a lost session", async () => {
    const { open } = await start({ lockDelayMs: 600_000 });
    await using one = open();
    await using two = open();
    await (await one.lock("default", record())).release();
    await (await two.lock("default", record())).release();
  });
});
