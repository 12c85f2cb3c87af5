import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

/** Builds of providers that tests are given, by the ends of their variables. */
const BUILDS = { NULL: "null", RANDOM: "random", LOCAL: "local" } as const;

/**
 * A CLI configuration that installs providers of HashiCorp from a folder alone; undefined where the test has no builds of them.
 */
export async function providerMirror(folder: string): Promise<string | undefined> {
  const mirror = join(folder, "mirror");
  const platform = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  for (const [end, name] of Object.entries(BUILDS)) {
    const build = process.env[`TEST_TOOL_TERRAFORM_PROVIDER_${end}`];
    if (build === undefined) return undefined;
    const at = join(mirror, "registry.terraform.io/hashicorp", name, "3.0.0", platform);
    await mkdir(at, { recursive: true });
    await copyFile(build, join(at, `terraform-provider-${name}_v3.0.0`));
  }
  const file = join(folder, "provider-mirror.rc");
  const path = JSON.stringify(mirror);
  await writeFile(file, `provider_installation {\n  filesystem_mirror { path = ${path} }\n}\n`);
  return file;
}
