import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startAzurite } from "../../testing/azurite.ts";
import {
  COMMAND,
  NO_COMMAND,
  provesItself,
  record,
  rootModule,
} from "../../testing/real-root-module.ts";
import { openBackend } from "../open-backend.ts";
import type { StateBackend } from "../state-backend.ts";

const AZURITE = process.env["TEST_AZURITE"];

describe("states in blobs of Azure", { timeout: 120_000 }, () => {
  it("are read, locked by a lease, and written", async (ctx) => {
    ctx.skip(AZURITE === undefined, "needs TEST_AZURITE");
    const { account, env, createContainer } = await startAzurite(AZURITE ?? "");
    const values = {
      storage_account_name: account,
      container_name: "states",
      key: "team a/app.tfstate",
    };
    const open = async (further: Record<string, string> = {}): Promise<StateBackend> =>
      openBackend({ type: "azurerm", values: { ...values, ...further } }, { directory: "/", env });
    await using backend = await open();
    await expect(backend.read("default")).rejects.toThrow("ContainerNotFound");
    await createContainer();
    expect(await backend.read("default")).toBeUndefined();
    expect(await backend.workspaces()).toEqual(["default"]);

    // A lock of what is not there yet makes an empty blob, which is no state.
    const mine = record();
    const held = await backend.lock("default", mine);
    expect(held).toMatchObject({ id: mine.ID, outlivesProcess: true });
    expect(await backend.read("default")).toBeUndefined();
    await using second = await open();
    await expect(second.lock("default", record())).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_LOCKED",
      lock: expect.stringContaining(mine.ID) as unknown,
    });
    await expect(second.write("default", Buffer.from("{}"))).rejects.toThrow("LeaseIdMissing");
    await backend.write("default", Buffer.from('{"serial": 1}'));
    // The metadata of the lock survive the write.
    await expect(second.lock("default", record())).rejects.toThrow("held by ann@build");
    expect(await second.lockHolder?.("default")).toContain(mine.ID);
    await held.release();
    expect(await second.lockHolder?.("default")).toBeUndefined();
    expect(Buffer.from((await second.read("default")) ?? []).toString()).toBe('{"serial": 1}');

    // Workspaces have their names behind the key; a later process releases what an earlier one left.
    const staging = record();
    await second.lock("stg", staging);
    await second.write("stg", Buffer.from("{}"), { lockId: staging.ID });
    expect(await backend.workspaces()).toEqual(["default", "stg"]);
    await backend.unlock?.("stg", "another");
    await expect(backend.lock("stg", record())).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_LOCKED",
    });
    await backend.unlock?.("stg", staging.ID);
    await (await backend.lock("stg", record())).release();

    // A lock that was broken meanwhile protects what others wrote since.
    const broken = record();
    await backend.lock("default", broken);
    await second.unlock?.("default", broken.ID);
    await expect(backend.write("default", Buffer.from("{}"))).rejects.toThrow(/Lease/);

    await using snapshots = await open({ snapshot: "true" });
    await snapshots.write("default", Buffer.from('{"serial": 2}'));
    expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe('{"serial": 2}');

    await using wrong = await open({ access_key: randomBytes(64).toString("base64") });
    await expect(wrong.read("default")).rejects.toThrow("permission denied");
  });

  it("are those of the real command, with its locks", async (ctx) => {
    ctx.skip(AZURITE === undefined, "needs TEST_AZURITE");
    ctx.skip(spawnSync(COMMAND, ["version"]).status !== 0, NO_COMMAND);
    ctx.skip(spawnSync("openssl", ["version"]).status !== 0, "there is no openssl");
    const azurite = await startAzurite(AZURITE ?? "");
    await azurite.createContainer();
    const values = {
      storage_account_name: azurite.account,
      container_name: "states",
      key: "team a/app.tfstate",
    };
    const block = Object.entries(values).map(([name, value]) => `    ${name} = "${value}"\n`);
    const env = { ...azurite.env, ...(await azurite.commandEnv()) };
    await provesItself(await rootModule("azurerm", block.join(""), env), values);
  });
});
