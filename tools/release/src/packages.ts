import { globSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
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

/** Packs every package. pnpm gives all files one time, and sorts them. */
export async function makePackages({ root, output }: PartContext): Promise<void> {
  const target = join(output, "packages");
  await mkdir(target, { recursive: true });
  for (const folder of publishedPackages(root)) {
    await requireCommand(["pnpm", "pack", "--pack-destination", target], {
      cwd: join(root, folder),
      timeoutMs: 120_000,
    });
  }
}
