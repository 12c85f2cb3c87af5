import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LockedPackage } from "./lock-file.ts";

/** What a package says about its license. */
type Stated = {
  readonly license?: unknown;
  readonly licenses?: readonly { readonly type: string }[];
};

/**
 * Packages that are not under an allowed license, each with the reason why they are part of a release all the same.
 */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  openpgp: "LGPL-3.0: a file of its own, which users can replace",
};

/** Reads licenses from what is installed. */
export class InstalledLicenses {
  readonly #store: string;
  readonly #folders: readonly string[];

  constructor(root: string) {
    this.#store = join(root, "node_modules/.pnpm");
    this.#folders = existsSync(this.#store) ? readdirSync(this.#store) : [];
  }

  /** As SPDX writes it; undefined where the package is not installed here, or does not say it. */
  of({ name, version }: LockedPackage): string | undefined {
    const prefix = `${name.replace("/", "+")}@${version}`;
    const folder = this.#folders.find((one) => one === prefix || one.startsWith(`${prefix}_`));
    if (folder === undefined) return undefined;
    const path = join(this.#store, folder, "node_modules", name, "package.json");
    const { license, licenses = [] } = JSON.parse(readFileSync(path, "utf8")) as Stated;
    if (typeof license === "string") return license;
    return licenses.map(({ type }) => type).join(" OR ") || undefined;
  }
}

/** Licenses under which something can be part of a release. */
export function allowedLicenses(root: string): ReadonlySet<string> {
  const path = join(root, "apps/cli/scripts/bundle/allowed-licenses.json");
  return new Set(JSON.parse(readFileSync(path, "utf8")) as string[]);
}

/** What is wrong with the license of a package; undefined where it is allowed. */
export function licenseProblem(
  { name, version }: LockedPackage,
  license: string | undefined,
  allowed: ReadonlySet<string>,
): string | undefined {
  if (name in EXCEPTIONS) return undefined;
  if (license === undefined) return `${name}@${version} does not state its license`;
  // One of those among which a user can choose is enough, of those that hold together all are needed.
  const isAllowed = license
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((part) => allowed.has(part.trim())));
  return isAllowed ? undefined : `${name}@${version} is under ${license}`;
}
