import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempDisposable, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type OpenStore, openStore } from "@stackwright/core";
import { verifyBackup } from "@stackwright/storage/backup";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";
import { tryCommand } from "../testing/try-command.ts";

// apps/cli/docs/operate-the-store.md as somebody follows it: its commands as they stand there, with other stores.

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const run = promisify(execFile);

const MAIN = `
variable "word" {
  default   = "hunter2hunter2"
  sensitive = true
}
resource "terraform_data" "a" {
  count = 20
  input = "\${var.word} \${count.index}"
}
output "word" {
  value     = var.word
  sensitive = true
}
`;

/** What a shell is given in a section of the page. */
async function commandsOf(section: string): Promise<string> {
  const text = await readFile(join(ROOT, "apps/cli/docs/operate-the-store.md"), "utf8");
  const [, body = ""] = text.split(`\n## ${section}\n`);
  const [own = ""] = body.split("\n## ");
  return [...own.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content).join("");
}

/** Resources of a load, each with a blob: few, as they are restored into each store. */
const LOAD = 40;

/** Writes resources with blobs, one after the other and again, until it is stopped. Gives the number of writes. */
async function writeUntil(stop: AbortSignal, { storage, blobs }: OpenStore): Promise<number> {
  const versions = new Map<string, string>();
  let count = 0;
  for (; !stop.aborted; count += 1) {
    const name = `load-${count % LOAD}`;
    const { sha256 } = await blobs.write(Buffer.from(`content of ${name}`));
    const stored = await storage.writeCAS({
      id: {
        uid: name,
        name,
        type: { group: "load", groupVersion: "v1", kind: "Load" },
        tenancy: { partition: "default", peerName: "local", namespace: "default" },
      },
      version: versions.get(name) ?? "",
      generation: "",
      metadata: {},
      status: {},
      data: { typeUrl: "test/Load", value: Buffer.from(`${sha256} ${count}`) },
    });
    versions.set(name, stored.version);
  }
  return count;
}

describe("the page on operating a store", { timeout: 300_000 }, () => {
  let root: string;
  let env: Record<string, string>;

  const shell = async (text: string) => (await run("sh", ["-ec", text], { cwd: root, env })).stdout;
  const command = async (...words: string[]) => tryCommand(words, { cwd: root });
  const embedded = () =>
    openStore(
      { kind: "sqlite", directory: join(root, "store") },
      { blobDirectory: join(root, "none") },
    );

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "store guide "));
    onTestFinished(() => scratch.remove());
    root = scratch.path;
    env = {
      HOME: root,
      PATH: `${dirname(process.execPath)}:${ROOT}/node_modules/.bin:${process.env.PATH}`,
    };
    await writeFile(join(root, "main.tf"), MAIN);
    const up = await command("up", "--yes", "--store", "sqlite:store");
    expect(up.output).toContain("20 added");
  });

  it("leads from a backup under load over a disaster to a store of another engine", async (context) => {
    const { TEST_POSTGRES_URL: postgres, TEST_ETCD_ENDPOINTS: etcd } = process.env;
    const database = `guide_${randomUUID().replaceAll("-", "_")}`;
    const stores = ["sqlite:new-store"];
    if (postgres !== undefined) {
      const admin = [`--maintenance-db=${postgres}`, database];
      await run(join(process.env.TEST_POSTGRES_BIN ?? "", "createdb"), admin);
      context.onTestFinished(async () => {
        await run(join(process.env.TEST_POSTGRES_BIN ?? "", "dropdb"), ["--force", ...admin]);
      });
      const url = new URL(postgres);
      url.pathname = database;
      stores.push(url.href);
    }
    if (etcd !== undefined) stores.push(`etcd://${new URL(etcd).host}/${randomUUID()}`);

    const stop = new AbortController();
    {
      await using store = await embedded();
      const written = writeUntil(stop.signal, store);
      const said = await shell(await commandsOf("Make a backup"));
      expect(said).toContain("backups/monday: intact");
      stop.abort();
      expect(await written).toBeGreaterThan(1);
    }
    await rm(join(root, "store"), { recursive: true });

    const restore = await commandsOf("After a disaster");
    for (const address of stores) {
      const said = await shell(restore.replaceAll("sqlite:new-store", `'${address}'`));
      expect(said).toMatch(/^Restored .*backups\/monday into /);
      expect(said).toMatch(/: intact\n/);
      const store = ["--store", address];
      expect((await command("output", "--raw", "word", ...store)).output).toBe("hunter2hunter2");
      expect((await command("plan", ...store)).output).toContain("No changes");
      const on = await command("up", "--yes", "--var", "word=further", ...store);
      expect(on.output).toContain("20 changed");
      expect((await command("output", "--raw", "word", ...store)).output).toBe("further");
    }
  });

  it("holds where backup and restore are killed", async () => {
    {
      await using store = await embedded();
      const stop = new AbortController();
      const writing = writeUntil(stop.signal, store);
      await untilThere(join(root, "store", "blobs", "blobs"), 25);
      stop.abort();
      await writing;
    }
    const backups = join(root, "backups", "monday");
    {
      await using backup = spawnCommand(["store", "backup", backups, "--store", "sqlite:store"], {
        cwd: root,
      });
      await untilThere(join(`${backups}.partial`, "blobs"), 1);
      await backup.stop("SIGKILL");
    }
    expect(await stat(backups).catch(() => undefined)).toBeUndefined();
    await expect(verifyBackup(`${backups}.partial`)).rejects.toThrow("not a complete backup");
    const again = await command("store", "backup", backups, "--store", "sqlite:store");
    expect(again).toMatchObject({ code: 0 });
    expect(await readdir(join(root, "backups"))).toEqual(["monday"]);
    expect(await verifyBackup(backups)).toMatchObject({ problems: 0 });

    const target = ["--store", "sqlite:new-store"];
    {
      await using restore = spawnCommand(["store", "restore", backups, ...target], { cwd: root });
      await untilThere(join(root, "new-store", "blobs", "blobs"), 1);
      await restore.stop("SIGKILL");
    }
    expect((await command("store", "verify", ...target)).output).toMatch(/\n0 resources, /);
    const restored = await command("store", "restore", backups, ...target);
    expect(restored).toMatchObject({ code: 0 });
    expect((await command("plan", ...target)).output).toContain("No changes");
  });
});

/** Waits until a folder has so many entries. */
async function untilThere(folder: string, entries: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while ((await readdir(folder).catch(() => [])).length < entries) {
    if (performance.now() > deadline) throw new Error(`${folder} does not fill`);
    await delay(1);
  }
}
