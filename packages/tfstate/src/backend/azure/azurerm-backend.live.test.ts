import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "@stackwright/base/free-ports";
import { describe, expect, it, onTestFinished } from "vitest";
import { record } from "../../testing/real-root-module.ts";
import { openBackend } from "../open-backend.ts";
import type { StateBackend } from "../state-backend.ts";

const AZURITE = process.env["TEST_AZURITE"];
const ACCOUNT = "acmestates";
const KEY = randomBytes(64).toString("base64");

/** The emulator of Azure's storage, with one account. */
async function startAzurite(program: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "azurite-"));
  const [port = 0] = await freePorts(1);
  const words = ["--blobHost", "127.0.0.1", "--blobPort", String(port), "--location", folder];
  const env = { PATH: process.env["PATH"] ?? "", AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY}` };
  const child = spawn(
    process.execPath,
    [program, ...words, "--silent", "--disableTelemetry", "--skipApiVersionCheck"],
    { env, stdio: "ignore" },
  );
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  });
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(endpoint).catch(() => undefined);
    if (answer !== undefined) return endpoint;
    if (attempt > 300) throw new Error("azurite does not answer");
    await delay(100);
  }
}

describe("states in blobs of Azure", { timeout: 120_000 }, () => {
  it("are read, locked by a lease, and written", async (ctx) => {
    ctx.skip(AZURITE === undefined, "needs TEST_AZURITE");
    const endpoint = await startAzurite(AZURITE ?? "");
    const connection = `AccountName=${ACCOUNT};AccountKey=${KEY};BlobEndpoint=${endpoint}`;
    const env = { AZURE_STORAGE_CONNECTION_STRING: connection, ARM_ACCESS_KEY: KEY };
    const values = {
      storage_account_name: ACCOUNT,
      container_name: "states",
      key: "team a/app.tfstate",
    };
    const open = async (further: Record<string, string> = {}): Promise<StateBackend> =>
      openBackend({ type: "azurerm", values: { ...values, ...further } }, { directory: "/", env });
    await using backend = await open();
    await expect(backend.read("default")).rejects.toThrow("ContainerNotFound");
    await makeContainer(endpoint);
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
    await held.release();
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
});

/** The backend never makes containers, so that the test does. */
async function makeContainer(endpoint: string): Promise<void> {
  const { azureSigner } = await import("./azure-credentials.ts");
  const { BackendArguments } = await import("../backend-arguments.ts");
  const configuration = new BackendArguments("azurerm", { access_key: KEY }, {});
  const sign = azureSigner(configuration, ACCOUNT, { directory: "/", env: {} });
  const url = new URL(`${endpoint}/states?restype=container`);
  const headers = { "x-ms-version": "2021-12-02" };
  const signed = await sign({ method: "PUT", url, headers, length: 0 }, {});
  const answer = await fetch(signed.url, { method: "PUT", headers: signed.headers });
  expect(answer.status).toBe(201);
}
