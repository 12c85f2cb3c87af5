import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ReleaseError } from "../release-error.ts";

/** Where the project is for everybody. */
export interface PublicAddress {
  /** URL of the repository, as Git clones it. */
  readonly repository: string;
  readonly homepage: string;
  /** Where defects are reported. */
  readonly bugs: string;
}

interface RootManifest {
  readonly repository?: unknown;
  readonly homepage?: unknown;
  readonly bugs?: unknown;
}

/**
 * Reads the public address from the `package.json` of the repository, the one place that has it: all that is published gets it from
 * there. Undefined where there is none yet. `RELEASE_ADDRESS_INVALID` where it is no public address.
 */
export function readPublicAddress(root: string): PublicAddress | undefined {
  return publicAddress(
    JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as RootManifest,
  );
}

/** The public address that a manifest names. */
export function publicAddress({
  repository,
  homepage,
  bugs,
}: RootManifest): PublicAddress | undefined {
  if (repository === undefined) return undefined;
  const written = memberOf(repository, "url") ?? repository;
  const url = addressIn("repository", typeof written === "string" ? written : "");
  const page = url.replace(/\.git$/, "");
  return {
    repository: url,
    homepage: homepage === undefined ? `${page}#readme` : addressIn("homepage", homepage),
    bugs: bugs === undefined ? `${page}/issues` : addressIn("bugs", memberOf(bugs, "url") ?? bugs),
  };
}

/** Where people read a file of the repository as it was released. Git servers differ in the path; others than these have that of GitHub. */
export function addressOfFile(
  { repository }: Pick<PublicAddress, "repository">,
  version: string,
  path: string,
): string {
  const page = repository.replace(/\.git$/, "");
  const host = new URL(page).hostname;
  let way = "blob";
  if (/(?:^|\.)gitlab\./.test(host)) way = "-/blob";
  if (/(?:^|\.)(?:codeberg|gitea|forgejo)\./.test(host)) way = "src/tag";
  return `${page}/${way}/v${version}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function addressIn(member: string, value: unknown): string {
  const text = typeof value === "string" ? value.replace(/^git\+/, "") : "";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPublic =
    url?.protocol === "https:" &&
    url.username === "" &&
    url.hostname.includes(".") &&
    !/\.(?:example|invalid|local|localhost|test|internal)$/.test(url.hostname) &&
    !/^[\d.]+$|^\[/.test(url.hostname);
  if (isPublic) return text.replace(/\/+$/, "");
  throw new ReleaseError(
    "RELEASE_ADDRESS_INVALID",
    `"${member}" in package.json is ${JSON.stringify(value)}; it must be a public https: URL`,
  );
}
