import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDirectoryFiles } from "@stackwright/lang";
import { type LockFile, ProviderAddress, parseLockFile } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "./configuration.ts";
import { createMeantSource } from "./meant-source.ts";

const lockOf = (...sources: readonly string[]): LockFile =>
  parseLockFile(
    sources.map((source) => `provider "${source}" {\n  version = "1.0.0"\n}\n`).join("\n"),
  ).locks;

const TERRAFORM = "registry.terraform.io/hashicorp/random";
const TOFU = "registry.opentofu.org/hashicorp/random";

const ROOT = `
terraform {
  required_providers {
    pet = { source = "hashicorp/random" }
  }
}
provider "pet" {}
resource "pet_id" "a" {}
resource "null_resource" "b" {}
module "m" {
  source    = "./m"
  providers = { random = pet }
}
`;

describe("createMeantSource", () => {
  it.each([
    ["nothing locked", [], undefined, TERRAFORM],
    ["nothing locked, called as tofu", [], "tofu", TOFU],
    ["locked by tofu", [TOFU], undefined, TOFU],
    ["locked by terraform, called as tofu", [TERRAFORM], "tofu", TERRAFORM],
    ["locked by both", [TERRAFORM, TOFU], undefined, TERRAFORM],
    ["another provider locked by tofu", ["registry.opentofu.org/a/b"], undefined, TERRAFORM],
  ] as const)("%s", (_title, locked, reader, expected) => {
    const meant = createMeantSource({ lock: lockOf(...locked), ...(reader && { reader }) });
    expect(meant(ProviderAddress.parse("random")).toString()).toBe(expected);
    for (const other of ["example.com/a/random", "terraform.io/builtin/terraform", TOFU]) {
      expect(meant(ProviderAddress.parse(other)).toString()).toBe(other);
    }
  });

  it("counts for implied and for written sources, and for what modules pass on", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "meant-source-"));
    await mkdir(join(scratch.path, "m"));
    await writeFile(join(scratch.path, "main.tf"), ROOT);
    await writeFile(join(scratch.path, "m/main.tf"), 'resource "random_id" "c" {}\n');
    const meantSource = createMeantSource({
      lock: lockOf(TOFU, "registry.opentofu.org/hashicorp/null"),
    });
    const { resolution, diagnostics } = await loadConfiguration(
      createDirectoryFiles(scratch.path),
      { meantSource },
    );
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect([...resolution.requirements.keys()].toSorted()).toEqual([
      "registry.opentofu.org/hashicorp/null",
      TOFU,
    ]);
    expect([...resolution.configurations.keys()].toSorted()).toEqual([
      `provider["registry.opentofu.org/hashicorp/null"]`,
      `provider["${TOFU}"]`,
    ]);
  });
});
