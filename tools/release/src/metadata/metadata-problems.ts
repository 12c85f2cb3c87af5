import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publishedPackages } from "../packages.ts";
import { ReleaseError } from "../release-error.ts";
import type { PackageManifest } from "./complete-manifest.ts";
import { readPublicAddress } from "./public-address.ts";

/** Taken from one place when a package is packed; in a package they would become outdated. */
const OF_THE_PROJECT = ["repository", "homepage", "bugs"];

/** What the manifests of the published packages lack, each with what to do. */
export function metadataProblems(root: string): readonly string[] {
  const problems: string[] = [];
  try {
    if (readPublicAddress(root) === undefined) {
      problems.push(
        'no public address of the repository is known; name it in package.json: "repository": "https://HOST/OWNER/NAME.git" ' +
          '("homepage" and "bugs" as well where they are not below it)',
      );
    }
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    problems.push(error.message);
  }
  for (const folder of publishedPackages(root)) {
    const manifest = JSON.parse(
      readFileSync(join(root, folder, "package.json"), "utf8"),
    ) as PackageManifest;
    problems.push(...manifestProblems(manifest).map((what) => `${folder}/package.json ${what}`));
  }
  return problems;
}

/** What one manifest lacks. */
export function manifestProblems(manifest: PackageManifest): readonly string[] {
  const problems: string[] = [];
  for (const member of ["description", "license"]) {
    if (typeof manifest[member] !== "string") problems.push(`has no "${member}"`);
  }
  const { keywords, engines } = manifest;
  if (!isWords(keywords)) problems.push('has no "keywords": name at least three, in lower case');
  if (typeof (engines as { readonly node?: unknown } | undefined)?.node !== "string") {
    problems.push('does not say which Node it needs ("engines")');
  }
  for (const member of OF_THE_PROJECT.filter((one) => manifest[one] !== undefined)) {
    problems.push(`has "${member}", which is that of package.json of the repository; remove it`);
  }
  return problems;
}

function isWords(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length >= 3 &&
    new Set(value).size === value.length &&
    value.every((word) => typeof word === "string" && /^[a-z0-9][a-z0-9+ -]*$/.test(word))
  );
}
