import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { writeArchive } from "./archive.ts";
import { completeManifest, type PackageManifest } from "./metadata/complete-manifest.ts";
import { addressOfFile, type PublicAddress, readPublicAddress } from "./metadata/public-address.ts";
import { linkForReaders } from "./metadata/reader-links.ts";
import { sortedDependencies } from "./metadata/sorted-dependencies.ts";
import type { PartContext } from "./parts.ts";

/** Folders of the packages that are published, sorted. */
export function publishedPackages(root: string): readonly string[] {
  return globSync("{packages,apps}/*/package.json", { cwd: root })
    .filter((path) => {
      const manifest = JSON.parse(readFileSync(join(root, path), "utf8")) as {
        readonly private?: boolean;
      };
      return manifest.private !== true;
    })
    .map((path) => path.slice(0, -"/package.json".length))
    .toSorted();
}

/**
 * Packs every package. Manifests get the public address of the project where that is known, and links of a README that lead out of its
 * package lead there.
 */
export async function makePackages({ root, output, version, time }: PartContext): Promise<void> {
  const target = join(output, "packages");
  await mkdir(target, { recursive: true });
  const address = readPublicAddress(root);
  for (const folder of publishedPackages(root)) {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-pack-"));
    await requireCommand(["pnpm", "pack", "--pack-destination", scratch.path], {
      cwd: join(root, folder),
      timeoutMs: 120_000,
    });
    const [name = ""] = await readdir(scratch.path);
    const settings = { folder, address, version, time };
    await completePackage(join(scratch.path, name), join(target, name), settings);
  }
}

/** What a package is completed with. */
interface PackageSettings {
  /** Of the package in the repository. */
  readonly folder: string;
  readonly address: PublicAddress | undefined;
  readonly version: string;
  readonly time: Date;
}

/** Writes a package again with a complete manifest, and with links in its README that work outside of the repository. */
export async function completePackage(
  packed: string,
  output: string,
  { folder, address, version, time }: PackageSettings,
): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-package-"));
  await requireCommand(["tar", "--extract", "--file", packed, "--directory", scratch.path]);
  const path = join(scratch.path, "package/package.json");
  const packedManifest = JSON.parse(await readFile(path, "utf8")) as PackageManifest;
  const manifest = sortedDependencies(packedManifest);
  const complete = address === undefined ? manifest : completeManifest(manifest, folder, address);
  await writeFile(path, `${JSON.stringify(complete, undefined, 2)}\n`);
  const readme = join(scratch.path, "package/README.md");
  const page = linkForReaders(await readFile(readme, "utf8"), {
    page: `${folder}/README.md`,
    isPacked: (file) =>
      file.startsWith(`${folder}/`) &&
      existsSync(join(scratch.path, "package", file.slice(folder.length + 1))),
    addressOf: address && ((file) => addressOfFile(address, version, file)),
  });
  await writeFile(readme, page);
  await writeArchive({ folder: scratch.path, content: "package", output, time });
}
