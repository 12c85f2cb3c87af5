import type { PackageManifest } from "./complete-manifest.ts";

const MAPS = ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/** A manifest whose dependencies are in the order of their names. pnpm writes those of the workspace in the order in which it came to know their versions. */
export function sortedDependencies(manifest: PackageManifest): PackageManifest {
  const sorted = MAPS.filter((name) => manifest[name] !== undefined).map((name) => [
    name,
    Object.fromEntries(Object.entries(manifest[name] as object).toSorted(byName)),
  ]);
  return { ...manifest, ...Object.fromEntries(sorted) };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
