import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PackageId } from "../../package-layout.ts";
import { type Command, Workspace } from "./command.ts";
import { SignedRegistry } from "./signed-registry.ts";

/**
 * Asks the command for the hashes of an archive that a registry offers: `providers mirror` writes
 * them beside the copy that it makes, and `init` installs the archive and notes others.
 */
export async function askArchiveHashes(
  command: Command,
  id: PackageId,
  archive: Uint8Array,
): Promise<{ readonly hashes: readonly string[]; readonly lockFile: string }> {
  await using workspace = await Workspace.create(command);
  const path = workspace.path("offered.zip");
  await writeFile(path, archive);
  const { address, version, platform } = id;
  const offered = {
    source: address.toString(),
    version: version.toString(),
    platform: platform.toString(),
    path,
  };
  await using registry = await SignedRegistry.start([offered]);
  await workspace.configure(registry.cliConfiguration(address.host));
  const root = workspace.path("module");
  await mkdir(root);
  const required = { p: { source: offered.source, version: offered.version } };
  await writeFile(
    join(root, "main.tf.json"),
    JSON.stringify({ terraform: { required_providers: required } }),
  );
  const platformFlag = `-platform=${offered.platform}`;
  for (const args of [
    ["init", "-no-color"],
    ["providers", "mirror", platformFlag, workspace.path("copy")],
  ]) {
    const result = await workspace.run(root, ...args);
    if (result.exitCode !== 0) {
      throw new Error(`the command failed: ${result.stdout}${result.stderr}`);
    }
  }
  const index = workspace.path("copy", id.address.toString(), `${id.version.toString()}.json`);
  const listed = JSON.parse(await readFile(index, "utf8")) as {
    archives: Record<string, { hashes: string[] }>;
  };
  return {
    hashes: listed.archives[id.platform.toString()]?.hashes ?? [],
    lockFile: await readFile(join(root, ".terraform.lock.hcl"), "utf8"),
  };
}
