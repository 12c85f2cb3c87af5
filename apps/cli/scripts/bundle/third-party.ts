import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A package of others that is part of the bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** By its manifest, as SPDX writes it. */
  readonly license: string;
  /** The text that asks to be passed on. */
  readonly text: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  /** How old manifests say it. */
  readonly licenses?: readonly { readonly type: string }[];
}

/** Licenses that allow a bundle under the Apache License. The release script reads the list as well. */
const ALLOWED = new Set(
  JSON.parse(readFileSync(join(import.meta.dirname, "allowed-licenses.json"), "utf8")) as string[],
);
const TEXT = /^(?:licen[cs]e|copying|notice)/i;

/** The packages that inputs of the bundle come from, by name and version. */
export function bundledPackages(root: string, inputs: Iterable<string>): readonly BundledPackage[] {
  const found = new Map<string, BundledPackage>();
  for (const input of inputs) {
    const folder = packageFolder(root, input);
    if (folder === undefined || found.has(folder)) continue;
    found.set(folder, readPackage(folder));
  }
  const byName = (one: BundledPackage) => `${one.name}@${one.version}`;
  const unique = new Map([...found.values()].map((one) => [byName(one), one]));
  return [...unique.values()].toSorted((a, b) => (byName(a) < byName(b) ? -1 : 1));
}

function packageFolder(root: string, input: string): string | undefined {
  const at = input.lastIndexOf("node_modules/");
  if (at === -1) return undefined;
  const [first = "", second = ""] = input.slice(at + "node_modules/".length).split("/");
  const name = first.startsWith("@") ? join(first, second) : first;
  return join(root, input.slice(0, at), "node_modules", name);
}

function readPackage(folder: string): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, licenses = [] } = manifest;
  const license = manifest.license ?? (licenses.map(({ type }) => type).join(" OR ") || undefined);
  if (license === undefined || !isAllowed(license)) {
    throw new Error(
      `${name}@${version} is not allowed in the bundle: its license is ${license ?? "not stated"}. ` +
        "Do without it, or allow the license in apps/cli/scripts/bundle/allowed-licenses.json after reading it.",
    );
  }
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => TEXT.test(file)) : [];
  const text = files.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  return { name, version, license, text };
}

/** All parts of an expression have to be allowed, also those among which one could choose. */
function isAllowed(license: string): boolean {
  return license.split(/ (?:AND|OR) /).every((part) => ALLOWED.has(part.replace(/[()]/g, "")));
}

/** The page that goes with the bundle. */
export function thirdPartyPage(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ name, version, license, text }) => {
    const words = text === "" ? "The package has no text of its license.\n" : fenced(text);
    return `## ${name} ${version}\n\nLicense: ${license}\n\n${words}`;
  });
  return `# Third-party software in this package\n\nThe files of \`dist\` contain these packages. Those of the console are in \`dist/site/licenses.md\`;\nopenpgp, under the LGPL, is apart from them: \`dist/openpgp\` has its file as it was published, and another version may take its place.\n\n${parts.join("\n")}`;
}

function fenced(text: string): string {
  return `~~~text\n${text.replaceAll("\r\n", "\n")}\n~~~\n`;
}
