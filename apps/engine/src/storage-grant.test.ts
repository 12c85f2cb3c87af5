import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINE_KINDS } from "@stackwright/core";
import { REGISTRY_KINDS } from "@stackwright/registry";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeTenancies } from "./testing/tenancy-suite.ts";

describeTenancies("memory", async () => createMemoryStorage());
describeTenancies("sqlite", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "tenancies-"));
  onTestFinished(() => scratch.remove());
  return createSqliteStorage({ directory: scratch.path });
});

describe("the tables of kinds", () => {
  it("have no kind that both the engine and the registry write", () => {
    const own = new Set(ENGINE_KINDS);
    expect(own.size).toBe(ENGINE_KINDS.length);
    for (const kind of Object.keys(REGISTRY_KINDS)) expect(own).not.toContain(kind);
  });
});
