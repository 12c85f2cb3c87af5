import { describe, expect, it } from "vitest";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { loadModuleTree } from "./load-tree.ts";
import { selectModuleFiles, unreadFiles } from "./module-files.ts";

describe("selectModuleFiles", () => {
  it("reads files of OpenTofu, each instead of the file of Terraform of its name and syntax", () => {
    const names = ["a.tf", "a.tofu", "b.tf.json", "b.tofu.json", "c.tf", "c.tofu.json", "d.tofu"];
    expect(selectModuleFiles(names)).toEqual({
      primary: ["a.tofu", "b.tofu.json", "c.tf", "c.tofu.json", "d.tofu"],
      override: [],
    });
  });

  it("knows override files of both, and skips hidden files and backups", () => {
    const names = ["override.tofu", "x_override.tf", "x_override.tofu", ".h.tofu", "b.tofu~"];
    expect(selectModuleFiles(names)).toEqual({
      primary: [],
      override: ["override.tofu", "x_override.tofu"],
    });
  });
});

describe("unreadFiles", () => {
  it("names files of newer versions", () => {
    const names = [
      "main.tf",
      "q.tfquery.hcl",
      "s.tfstack.hcl",
      "d.tfdeploy.json",
      "x.hcl",
      ".q.tfquery.hcl",
    ];
    expect(unreadFiles(names).map(({ name }) => name)).toEqual([
      "d.tfdeploy.json",
      "q.tfquery.hcl",
      "s.tfstack.hcl",
    ]);
  });

  it("is a warning of the module, with the path", async () => {
    const bundle = memoryBundle({
      "main.tofu": 'module "m" { source = "./m" }',
      "m/main.tf": "",
      "m/q.tfquery.hcl": "list {}",
    });
    const { root, diagnostics } = await loadModuleTree(bundle);
    expect([...root.children.keys()]).toEqual(["m"]);
    expect(diagnostics.map(({ severity, detail }) => `${severity}: ${detail}`)).toEqual([
      'warning: The file "m/q.tfquery.hcl" is a query of Terraform 1.14, which is not supported. It has no effect.',
    ]);
  });
});
