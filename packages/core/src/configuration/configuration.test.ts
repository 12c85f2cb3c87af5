import { type BundleFiles, EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "./configuration.ts";

const FOLDERS = new Map([
  [".", new Map([["main.tf", 'module "a" {\n  source = "./a"\n}\n']])],
  ["a", new Map([["main.tf", 'output "id" {\n  value = 1\n}\n']])],
]);

it("reads each configuration file once, and lists each folder once", async () => {
  const asked: string[] = [];
  const files: BundleFiles = {
    ...EMPTY_BUNDLE,
    names: (folder) => {
      asked.push(`names ${folder}`);
      return [...(FOLDERS.get(folder)?.keys() ?? [])];
    },
    read: (path) => {
      asked.push(`read ${path}`);
      const [name = "", folder = "."] = path.split("/").toReversed();
      return new TextEncoder().encode(FOLDERS.get(folder)?.get(name));
    },
  };

  const { diagnostics } = await loadConfiguration(files);

  expect(diagnostics).toEqual([]);
  expect(asked).toEqual(["names .", "read main.tf", "names a", "read a/main.tf"]);
});
