import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startConsul } from "../../testing/consul-agent.ts";
import { startFakeConsul } from "../../testing/fake-consul.ts";
import {
  COMMAND,
  NO_COMMAND,
  provesItself,
  record,
  rootModule,
} from "../../testing/real-root-module.ts";

const CONSUL = process.env["TEST_TOOL_CONSUL"];

describe.each([
  ["an agent of Consul", CONSUL === undefined ? undefined : async () => startConsul(CONSUL)],
  ["what stands for an agent", startFakeConsul],
])("states in keys of %s", { timeout: 240_000 }, (_name, start) => {
  it("are those of the real command, with its locks", async (ctx) => {
    ctx.skip(start === undefined, "needs TEST_TOOL_CONSUL");
    ctx.skip(spawnSync(COMMAND, ["version"]).status !== 0, NO_COMMAND);
    const address = (await start?.()) ?? "";
    const values = { path: "team/app", address, scheme: "http" };
    const block = Object.entries(values).map(([name, value]) => `    ${name} = "${value}"\n`);
    const root = await rootModule("consul", block.join(""));
    await provesItself(root, values);

    // What is too large for one key is in parts, for either side; and compressed where that is set.
    for (const gzip of [false, true]) {
      await using backend = await root.open({ ...values, gzip });
      const bytes = Buffer.from((await backend.read("default")) ?? []).toString("utf8");
      const state = JSON.parse(bytes) as { serial: number; outputs: Record<string, unknown> };
      state.serial += 1;
      const value = randomBytes(900_000).toString("base64");
      state.outputs["big"] = { value, type: "string" };
      const large = JSON.stringify(state);
      await backend.write("default", Buffer.from(large));
      expect((await root.run("state", "pull")).text).toContain(`"serial": ${state.serial}`);
      expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe(large);
      // Written by another one since it was read: this one has to read it again.
      await using other = await root.open(values);
      await other.write("default", Buffer.from(bytes));
      await expect(backend.write("default", Buffer.from(large))).rejects.toThrow("was changed");
      expect(Buffer.from((await other.read("default")) ?? []).toString()).toBe(bytes);
    }

    // The old state stays under another name, and a marker in its place.
    await using backend = await root.open(values);
    const before = await backend.read("stg");
    const held = await backend.lock("stg", record());
    const name = await backend.retire?.("stg", "adopted-3", Buffer.from("adopted"));
    await held.release();
    expect(name).toBe("consul key team/app-env:stg.adopted-3");
    expect(Buffer.from((await backend.read("stg")) ?? []).toString()).toBe("adopted");
    expect(await backend.read("stg.adopted-3")).toEqual(before);
  });
});
