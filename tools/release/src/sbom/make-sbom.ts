import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { readPublicAddress } from "../metadata/public-address.ts";
import { publishedPackages } from "../packages.ts";
import type { PartContext } from "../parts.ts";
import { ReleaseError } from "../release-error.ts";
import { BUNDLED, requireBundled } from "./bundled-packages.ts";
import { cycloneDx, type OwnPackage } from "./cyclonedx.ts";
import { allowedLicenses, InstalledLicenses, licenseProblem } from "./licenses.ts";
import { readClosure } from "./lock-file.ts";

/** Writes the bill of all that is published. Refuses a license that is not allowed. */
export async function makeSbom({
  root,
  output,
  version,
  commit,
  time,
}: PartContext): Promise<void> {
  const folders = publishedPackages(root);
  const { packages, roots } = await readClosure(root, folders, BUNDLED);
  requireBundled(root, packages);
  const installed = new InstalledLicenses(root);
  const allowed = allowedLicenses(root);
  const problems = [...packages.values()].flatMap(
    (one) => licenseProblem(one, installed.of(one), allowed) ?? [],
  );
  if (problems.length > 0) {
    throw new ReleaseError(
      "RELEASE_LICENSE",
      `do without these, or allow their licenses after reading them:\n  ${problems.join("\n  ")}`,
    );
  }
  const manifests = new Map(folders.map((folder) => [folder, manifestOf(root, folder)]));
  const own = folders
    .map((folder): OwnPackage => {
      const needs = roots.get(folder) ?? [];
      return {
        ...manifestOf(root, folder),
        needs: needs.map((key) => manifests.get(key)?.name ?? key),
      };
    })
    // The command, which is the subject, first.
    .toSorted((a, b) => Number(b.name === "stackwright") - Number(a.name === "stackwright"));
  const [subject, ...libraries] = own;
  if (subject === undefined) throw new Error("no package is published");
  const bill = cycloneDx({
    own: [subject, ...libraries],
    others: packages,
    licenseOf: (one) => installed.of(one),
    commit,
    repository: readPublicAddress(root)?.repository,
    time,
    // Executables are made with programs of the version that runs this, and no other.
    node: process.versions.node,
  });
  const path = join(output, `stackwright-${version}.cdx.json`);
  await writeFile(path, `${JSON.stringify(bill, undefined, 2)}\n`);
}

function manifestOf(root: string, folder: string): { name: string; version: string } {
  const { name, version } = JSON.parse(
    readFileSync(join(root, folder, "package.json"), "utf8"),
  ) as { readonly name: string; readonly version: string };
  return { name, version };
}
