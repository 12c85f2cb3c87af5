import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Configuration, loadConfiguration } from "@stackwright/core";
import { createDirectoryFiles } from "@stackwright/lang";
import { expect, it } from "vitest";
import { effectiveConstraints, withConstraints } from "./effective-constraints.ts";

const requires = (source: string, version: string): string =>
  `terraform {\n  required_providers {\n    net = { source = "${source}", version = "${version}" }\n  }\n}\n`;
const OWN = "stackwright.example.com/team/net";
const CALL = 'module "fetched" { source = "registry.example.com/acme/net/aws" }\n';

/** A configuration whose module `fetched` is a package of its own. */
async function load(root: string, fetched: string): Promise<Configuration> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "constraints-"));
  for (const [path, text] of Object.entries({ "root/main.tf": root, "package/main.tf": fetched })) {
    await mkdir(dirname(join(scratch.path, path)), { recursive: true });
    await writeFile(join(scratch.path, path), text);
  }
  const files = createDirectoryFiles(join(scratch.path, "package"));
  const packages = { locate: async () => ({ files, folder: ".", packageFolder: "." }) };
  return await loadConfiguration(createDirectoryFiles(join(scratch.path, "root")), { packages });
}

it("the versions that a configuration allows are those that modules of elsewhere allow as well", async () => {
  const both = await load(requires(OWN, "~> 1.0") + CALL, requires(OWN, "< 1.4.0"));
  expect(both.diagnostics).toEqual([]);
  expect(effectiveConstraints(both)).toEqual([{ source: OWN, versions: "~> 1.0, < 1.4.0" }]);
  const one = await load(CALL, requires(OWN, ">= 1.2.0"));
  expect(effectiveConstraints(one)).toEqual([{ source: OWN, versions: ">= 1.2.0" }]);
});

it("private providers have none, as they always name one version", async () => {
  const source = "huawei.com/private-provider/vault";
  const found = await load(requires(source, "1.0.0"), "");
  expect(found.diagnostics).toEqual([]);
  expect(effectiveConstraints(found)).toEqual([]);
});

it("a result has them where it leaves the stack as the configuration says", async () => {
  const found = await load(requires(OWN, "~> 1.0"), "");
  const providerConstraints = [{ source: OWN, versions: "~> 1.0" }];
  for (const phase of ["applied", "partially_applied"] as const) {
    expect(withConstraints({ phase, revision: "2" }, found)).toEqual({
      phase,
      revision: "2",
      providerConstraints,
    });
  }
  const same = { phase: "no_changes", revision: "2" } as const;
  expect(withConstraints(same, found)).toEqual({ ...same, providerConstraints });
  const failed = { phase: "failed", reason: "no" } as const;
  expect(withConstraints(failed, found)).toEqual(failed);
});
