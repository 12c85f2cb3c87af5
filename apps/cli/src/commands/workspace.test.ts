import { readFile } from "node:fs/promises";
import { openStore } from "@stackwright/core";
import { describe, expect, it } from "vitest";
import { folderWith } from "../testing/adoption-folder.ts";

const MAIN = `resource "terraform_data" "a" { input = terraform.workspace }\noutput "w" { value = terraform_data.a.output }\n`;

describe("workspaces", { timeout: 120_000 }, () => {
  it("are created, selected, listed and deleted with the codes of the reference command", async () => {
    const { run, path } = await folderWith({ "main.tf": MAIN });
    const code = async (...words: string[]) => (await run(["workspace", ...words])).code;
    expect(await run(["workspace", "show"])).toMatchObject({ code: 0, output: "default\n" });
    expect(await run(["workspace", "list"])).toMatchObject({ code: 0, output: "* default\n" });
    expect(await code("select", "w")).toBe(1);
    expect(await code("new", "w")).toBe(0);
    expect(await readFile(path(".terraform/environment"), "utf8")).toBe("w");
    expect(await code("new", "w")).toBe(1);
    expect(await code("new", "a/b")).toBe(1);
    expect(await code("new", "default")).toBe(1);
    expect((await run(["workspace", "new", ""])).error).toContain("A workspace needs a name.");
    expect((await run(["workspace", "list"])).output).toBe("  default\n* w\n");
    expect(await code("delete", "w")).toBe(1);
    expect(await code("select", "default")).toBe(0);
    expect(await code("select", "other")).toBe(1);
    expect(await code("select", "-or-create", "other")).toBe(0);
    expect(await code("delete", "missing")).toBe(1);
    expect(await code("delete", "default")).toBe(1);
    expect(await code("delete", "w")).toBe(0);
    expect((await run(["env", "list"])).output).toBe("  default\n* other\n");
  });

  it("are what a plan is for, and are not deleted with objects in them", async () => {
    const { run } = await folderWith({ "main.tf": MAIN });
    await run(["workspace", "new", "w"]);
    expect(await run(["apply", "-auto-approve"])).toMatchObject({ code: 0 });
    expect((await run(["output", "-raw", "w"])).output).toBe("w");
    await run(["workspace", "select", "default"]);
    expect((await run(["output"])).output).toBe("");
    const refused = await run(["workspace", "delete", "w"]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.error).toContain("has 1 object.");
    expect(await run(["workspace", "delete", "-force", "w"])).toMatchObject({ code: 0 });
    expect((await run(["workspace", "list"])).output).toBe("* default\n");
  });

  it("are deleted with their state, its history, their runs and their keys", async () => {
    const { run, path } = await folderWith({ "main.tf": MAIN });
    await run(["workspace", "new", "w"]);
    const listed = await run(["stacks", "--json"]);
    const [{ id }] = JSON.parse(listed.output) as [{ readonly id: string }];
    expect(await run(["apply", "-auto-approve"])).toMatchObject({ code: 0 });
    await run(["workspace", "select", "default"]);
    const left = async (): Promise<readonly string[]> => {
      const directory = path(".stackwright/store");
      const blobDirectory = path("none");
      await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory });
      await using snapshot = await store.storage.snapshot();
      const found: string[] = [];
      for await (const { id: of } of snapshot) {
        if (of.name.includes(id)) found.push(`${of.type.kind} ${of.name}`);
      }
      return found;
    };
    expect((await left()).length).toBeGreaterThan(3);
    expect(await run(["workspace", "delete", "-force", "w"])).toMatchObject({ code: 0 });
    expect(await left()).toEqual([]);
  });

  it("are selected by TF_WORKSPACE, which the commands do not change", async () => {
    const { run } = await folderWith({ "main.tf": MAIN });
    const env = { TF_WORKSPACE: "w" };
    expect((await run(["workspace", "show"], env)).output).toBe("w\n");
    expect((await run(["workspace", "select", "x"], env)).code).toBe(1);
    expect((await run(["workspace", "new", "x"], env)).code).toBe(1);
    await run(["workspace", "new", "w"]);
    expect((await run(["workspace", "select", "w"], env)).code).toBe(0);
    const { output } = await run(["workspace", "list"], env);
    expect(output).toContain("* w\n");
    await run(["workspace", "new", "a"], {});
    expect((await run(["workspace", "list"], env)).output).toContain("  default\n  a\n* w\n");
    expect(output).toContain('TF_WORKSPACE selects the workspace "w"');
  });

  it("are kept below TF_DATA_DIR", async () => {
    const { run, path } = await folderWith({ "main.tf": MAIN });
    await run(["workspace", "new", "z"], { TF_DATA_DIR: ".d" });
    expect(await readFile(path(".d/environment"), "utf8")).toBe("z");
    expect((await run(["workspace", "show"])).output).toBe("default\n");
  });
});
