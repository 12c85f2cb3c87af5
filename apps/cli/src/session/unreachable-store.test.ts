import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

describe("a store that does not answer", { timeout: 60_000 }, () => {
  it.each([
    ["stackwright://127.0.0.1:1", "a server (stackwright serve) runs there"],
    ["postgres://me:hidden@127.0.0.1:1/stackwright", "the server runs there"],
    ["etcd://127.0.0.1:1", "the server runs there"],
  ])("is named, with what to look at: %s", async (store, advice) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "unreachable-"));
    const cwd = folder.path;
    await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const { code, error } = await tryCommand(["up", "--yes", "--store", store], { cwd });
    expect(code).toBe(1);
    expect(error).toContain(`The store ${store.replace(/\/\/.*@/, "//")} cannot be used: `);
    expect(error).toContain("ECONNREFUSED");
    expect(error).toContain(advice);
    expect(error).not.toMatch(/hidden|Resolution note|UNAVAILABLE/);
  });
});
