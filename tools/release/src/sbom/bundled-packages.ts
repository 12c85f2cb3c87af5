import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ReleaseError } from "../release-error.ts";
import type { LockedPackage } from "./lock-file.ts";

/** Development dependencies that become part of what is published, by folder of the package. */
export const BUNDLED: Readonly<Record<string, readonly string[]>> = {
  "apps/console": [
    "@tanstack/react-query",
    "@tanstack/react-router",
    "@tanstack/react-virtual",
    "marked",
    "react",
    "react-dom",
  ],
};

/** Compares the bill with what the builder of the console found in its bundle, where it is built. */
export function requireBundled(root: string, packages: ReadonlyMap<string, LockedPackage>): void {
  const path = join(root, "apps/console/dist/site/licenses.md");
  if (!existsSync(path)) return;
  const headings = readFileSync(path, "utf8").matchAll(/^## (\S+) - (\S+) \(/gm);
  const missing = Array.from(headings, ([, name, version]) => `${name}@${version}`).filter(
    (key) => !packages.has(key),
  );
  if (missing.length === 0) return;
  throw new ReleaseError(
    "RELEASE_LICENSE",
    `the console contains ${missing.join(", ")}: add to tools/release/src/sbom/bundled-packages.ts what brings it there`,
  );
}
