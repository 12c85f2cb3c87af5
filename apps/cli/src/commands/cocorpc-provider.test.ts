import { chmod, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const PROGRAM = TEST_PROGRAMS.diskProvider;

const MAIN = `terraform {
  required_providers {
    disk = { source = "stackwright.local/cocorpc/disk" }
  }
}

resource "disk:volume:Volume" "a" {
  label = "a"
  size  = 1
}

output "path" {
  value = disk_volume_volume.a.path
}
`;

const PROPERTIES = { label: { type: "string" }, size: { type: "number" } };

const SCHEMA = {
  name: "disk",
  resources: {
    "disk:volume:Volume": {
      inputProperties: PROPERTIES,
      requiredInputs: ["label", "size"],
      properties: { ...PROPERTIES, path: { type: "string" } },
      required: ["label", "size", "path"],
    },
  },
};

describe("a provider of the protocol of 2017 in a folder", { timeout: 60_000 }, () => {
  it("is found by the name of its source, with the schema beside it", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "coco rpc-"));
    const cwd = folder.path;
    const program = join(cwd, "coco-resource-disk");
    await writeFile(
      program,
      `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "${join(cwd, "disk")}"\n`,
    );
    await chmod(program, 0o755);
    await writeFile(`${program}.json`, JSON.stringify(SCHEMA));
    await writeFile(join(cwd, "main.tf"), MAIN);
    const env = { PATH: process.env.PATH, HOME: cwd, STACKWRIGHT_COCORPC_PLUGINS: cwd };
    const run = async (...words: string[]) => tryCommand(words, { cwd, env });

    expect(await run("up", "--yes")).toMatchObject({ code: 0, error: "" });
    expect((await run("output", "path")).output).toContain("/dev/a");
    expect(await run("plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await run("destroy", "--yes")).toMatchObject({ code: 0 });
    const calls = await readFile(join(cwd, "disk", "calls"), "utf8");
    expect(calls.trim().split("\n")).toEqual(["create a 1", "delete a"]);
  });

  it("is asked for by its file name where it is missing", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "cocorpc-"));
    const cwd = folder.path;
    await writeFile(join(cwd, "main.tf"), MAIN);
    const { code, error, output } = await tryCommand(["plan"], { cwd });
    expect(code).toBe(1);
    const said = (error + output).replaceAll(/\s+[│|]?\s*/g, " ");
    expect(said).toContain("no coco-resource-disk with its schema coco-resource-disk.json");
    expect(said).toContain("STACKWRIGHT_COCORPC_PLUGINS");
  });
});
