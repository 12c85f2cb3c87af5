import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ProviderAddress } from "../../address/provider-address.ts";
import { packedPath, unpackedPath } from "../../package-layout.ts";
import { Platform } from "../../platform.ts";
import { Version } from "../../version/version.ts";
import type { ScenarioPackage } from "./lock-scenario.ts";

/** Writes the files of a package below a directory. */
export async function writePackageFiles(
  directory: string,
  { files }: ScenarioPackage,
): Promise<void> {
  for (const [path, file] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    if ("link" in file) await symlink(file.link, target);
    else await writeFile(target, file.text, { mode: file.executable === true ? 0o755 : 0o644 });
  }
}

/** Packs with Python's archiver, which writes entries for directories and today's times. */
async function packWithPython(target: string, scenario: ScenarioPackage): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "provider-source-"));
  try {
    await writePackageFiles(directory, scenario);
    await mkdir(dirname(target), { recursive: true });
    execFileSync("python3", [
      "-c",
      "import shutil, sys; shutil.make_archive(sys.argv[1].removesuffix('.zip'), 'zip', sys.argv[2])",
      target,
      directory,
    ]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Lays a package into a mirror folder and says where it is. */
export async function writeToMirror(mirror: string, scenario: ScenarioPackage): Promise<string> {
  const id = {
    address: ProviderAddress.parse(scenario.source),
    version: Version.parse(scenario.version),
    platform: Platform.parse(scenario.platform),
  };
  const target = join(mirror, scenario.packed === true ? packedPath(id) : unpackedPath(id));
  if (scenario.packed === true) await packWithPython(target, scenario);
  else await writePackageFiles(target, scenario);
  return target;
}
