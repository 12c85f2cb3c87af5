import { globSync, readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { writeArchive } from "./archive.ts";
import { completeManifest, type PackageManifest } from "./metadata/complete-manifest.ts";
import { type PublicAddress, readPublicAddress } from "./metadata/public-address.ts";
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
 * Packs every package, whose manifests get the public address of the project where that is known. pnpm gives all files one time, and
 * sorts them.
 */
export async function makePackages({ root, output, time }: PartContext): Promise<void> {
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
    const packed = join(scratch.path, name);
    if (address === undefined) await copyFile(packed, join(target, name));
    else await completePackage(packed, join(target, name), { folder, address, time });
  }
}

/** Writes a package again with a complete manifest. */
export async function completePackage(
  packed: string,
  output: string,
  {
    folder,
    address,
    time,
  }: { readonly folder: string; readonly address: PublicAddress; readonly time: Date },
): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-package-"));
  await requireCommand(["tar", "--extract", "--file", packed, "--directory", scratch.path]);
  const path = join(scratch.path, "package/package.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as PackageManifest;
  const text = JSON.stringify(completeManifest(manifest, folder, address), undefined, 2);
  await writeFile(path, `${text}\n`);
  await writeArchive({ folder: scratch.path, content: "package", output, time });
}
