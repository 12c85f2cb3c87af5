import { mkdtempDisposable, readdir, readFile, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import type { PlanOptions } from "../plan/plan.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { builtinOrigin } from "./builtin-origin.ts";
import { cocorpcOrigin } from "./cocorpc-origin.ts";
import { ProviderInstancePool } from "./provider-instance-pool.ts";

const PROGRAM = fileURLToPath(new URL("../testing/programs/disk-2017.ts", import.meta.url));

/** What such a provider has, as somebody wrote it down for it. */
const SCHEMA = JSON.stringify({
  name: "disk",
  resources: {
    "disk:volume:Volume": {
      inputProperties: {
        label: { type: "string" },
        size: { type: "number" },
        note: { type: "string" },
      },
      requiredInputs: ["label", "size"],
      properties: {
        label: { type: "string" },
        size: { type: "number" },
        note: { type: "string" },
        path: { type: "string" },
      },
      required: ["label", "size", "path"],
    },
  },
});

const HEAD = `terraform {
  required_providers {
    disk = { source = "stackwright.local/cocorpc/disk" }
  }
}
`;
const volume = (label: string, size: number, note = "null", type = "disk_volume_volume"): string =>
  `resource "${type}" "${label}" {\n  label = "${label}"\n  size  = ${size}\n  note  = ${note}\n}\n`;

/** An engine over the process, and what it did to the folder in which the process keeps its volumes. */
async function withDisk(work: (disk: Awaited<ReturnType<typeof prepare>>) => Promise<void>) {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "disk-2017-"));
  await using kept = new ProviderInstancePool();
  await work(await prepare(scratch.path, kept));
}

async function prepare(folder: string, kept: ProviderInstancePool) {
  const { state } = createTestState();
  const disk = { command: process.execPath, args: [PROGRAM, folder], schema: SCHEMA };
  const engine = createEngine({
    origins: [builtinOrigin(), kept.keep(cocorpcOrigin({ providers: { disk } }))],
  });
  const calls = async (): Promise<readonly string[]> =>
    (await readFile(join(folder, "calls"), "utf8").catch(() => "")).split("\n").slice(0, -1);
  const run = async (text: string, options: PlanOptions = {}) => {
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + text),
    });
    const given = { state, configuration, variables: new Map() };
    const before = (await calls()).length;
    const { plan, diagnostics } = await engine.plan({ ...given, options });
    const problems = diagnostics.map(({ severity, summary }) => `${severity} ${summary}`);
    if (plan === undefined) return { problems, actions: [], calls: [], status: "no plan" };
    expect((await calls()).length, "planning changes nothing").toBe(before);
    const result = await engine.apply({ ...given, plan });
    problems.push(...result.diagnostics.map(({ severity, summary }) => `${severity} ${summary}`));
    return {
      problems,
      actions: plan.changes
        .filter(({ action }) => action !== "no-op")
        .map(({ action, address }) => `${action} ${address}`),
      calls: (await calls()).slice(before),
      status: result.status,
    };
  };
  const volumes = async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
    return names.map((name) => ({ name, path: join(folder, name) }));
  };
  return { run, volumes, state };
}

describe("a provider process of 2017", { timeout: 60_000 }, () => {
  it("makes, changes, replaces and ends what a template says", async () =>
    withDisk(async ({ run, volumes, state }) => {
      const link = 'resource "terraform_data" "path" { input = disk_volume_volume.a.path }\n';
      expect(await run(volume("a", 1) + link)).toEqual({
        problems: [],
        actions: ["create disk_volume_volume.a", "create terraform_data.path"],
        calls: ["create a 1"],
        status: "applied",
      });
      const { objects } = await state.read();
      expect(JSON.parse(objects.get("terraform_data.path ")?.value?.json ?? "{}")).toMatchObject(
        {},
      );
      expect([...objects.values()].map(({ value }) => value?.json).join("\n")).toContain("/dev/a");
      expect(await run(volume("a", 1) + link)).toMatchObject({ actions: [], calls: [] });
      expect(await run(volume("a", 1, '"big"') + link)).toMatchObject({
        problems: [],
        // What an update makes of the path nobody can say before.
        actions: ["update disk_volume_volume.a", "update terraform_data.path"],
        calls: ["update a big"],
        status: "applied",
      });
      const replaced = await run(volume("a", 2, '"big"') + link);
      expect(replaced.actions).toContain("replace disk_volume_volume.a");
      expect(replaced).toMatchObject({ problems: [], calls: ["delete a", "create a 2"] });
      expect(await run(volume("a", 2, '"big"') + link, { mode: "destroy" })).toMatchObject({
        actions: ["delete disk_volume_volume.a", "delete terraform_data.path"],
        calls: ["delete a"],
        status: "applied",
      });
      expect(await volumes()).toEqual([]);
      expect((await state.read()).objects.size).toBe(0);
    }));

  it("takes the token of a type for its name", async () =>
    withDisk(async ({ run, state }) => {
      const token = "disk:volume:Volume";
      expect(await run(volume("a", 1))).toMatchObject({ problems: [], calls: ["create a 1"] });
      expect(await run(volume("a", 1, "null", token))).toMatchObject({
        problems: [],
        actions: [],
        calls: [],
      });
      expect(await run(volume("a", 1, '"big"', token))).toMatchObject({
        problems: [],
        actions: ["update disk_volume_volume.a"],
        calls: ["update a big"],
      });
      const [object] = (await state.read()).objects.values();
      expect(object).toMatchObject({
        address: "disk_volume_volume.a",
        type: "disk_volume_volume",
      });
    }));

  it("sees what went behind its back, and makes it again", async () =>
    withDisk(async ({ run, volumes }) => {
      await run(volume("a", 1));
      for (const { path } of await volumes()) await unlink(path);
      expect(await run(volume("a", 1))).toMatchObject({
        actions: ["create disk_volume_volume.a"],
        calls: ["create a 1"],
        status: "applied",
      });
    }));

  it("refuses what its check refuses, before anything is done", async () =>
    withDisk(async ({ run }) => {
      const { problems, status, calls } = await run(volume("a", 0));
      expect(status).toBe("no plan");
      expect(problems).toHaveLength(1);
      expect(calls).toEqual([]);
    }));

  it("leaves nothing behind that it could not make, and the rest is made", async () =>
    withDisk(async ({ run, state }) => {
      const { status, problems } = await run(volume("broken", 1) + volume("good", 1));
      expect(status).toBe("partially_applied");
      expect(problems).toEqual(["error Provider failed"]);
      const { objects } = await state.read();
      expect([...objects.values()].map(({ address, phase }) => `${address} ${phase}`)).toEqual([
        "disk_volume_volume.good ready",
      ]);
    }));
});
