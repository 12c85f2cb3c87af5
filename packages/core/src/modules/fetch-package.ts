import { cp, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  hideCredentials,
  ModuleError,
  parseModuleSource,
  type RemoteModuleSource,
} from "@stackwright/lang";
import { fetchGit } from "./git-package.ts";
import { fetchHttp, type HttpPackageOptions } from "./http-package.ts";
import { archiveKind, unpackModule } from "./module-archive.ts";
import { folderIn } from "./package-path.ts";
import { fetchS3 } from "./s3-package.ts";

interface FetchOptions extends HttpPackageOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Says why nothing is fetched from an address. */
  readonly refuse?: (source: RemoteModuleSource) => string | undefined;
  /** The commit of the lock file. */
  readonly commit?: string;
}

/** What was fetched. */
interface FetchedPackage {
  /** The folder that is the package; one inside where a page sent to that. */
  readonly folder: string;
  /** The folder of the module in it that the address names itself. */
  readonly inner: string;
  readonly commit?: string;
}

/** Most addresses that may send to one another. */
const MAX_REDIRECTS = 10;

/** Fetches the package of an address into an empty folder. Rejects with an error that says why it cannot be fetched. */
export async function fetchPackage(
  source: RemoteModuleSource,
  folder: string,
  options: FetchOptions,
  redirects = 0,
): Promise<FetchedPackage> {
  const { getter, url } = source;
  const refusal = options.refuse?.(source);
  if (refusal !== undefined) throw failed(refusal);
  switch (getter) {
    case "git": {
      const { env, signal, commit } = options;
      const { maxBytes } = options.limits ?? {};
      const refuse = (address: string): string | undefined =>
        options.refuse?.({ ...source, address: `git::${address}`, url: address });
      const request = {
        url,
        env,
        signal,
        maxBytes,
        refuse,
        ...(commit !== undefined && { commit }),
      };
      return { folder, inner: source.folder, commit: await fetchGit(request, folder) };
    }
    case "http":
    case "https": {
      const sent = await fetchHttp(url, folder, options);
      if (sent === undefined) return { folder, inner: source.folder };
      if (redirects >= MAX_REDIRECTS) {
        throw failed(`more than ${MAX_REDIRECTS} addresses send to one another`);
      }
      const next = parseModuleSource(sent.next);
      if (next.kind !== "remote" || isOfThisMachine(next)) {
        throw failed(`it sends to "${hideCredentials(sent.next)}"`);
      }
      const found = await fetchPackage(next, folder, options, redirects + 1);
      // The folder that a page sends to is the whole package.
      return { ...found, folder: await folderIn(found.folder, found.inner), inner: source.folder };
    }
    case "file":
      await takeFile(url, folder, options);
      return { folder, inner: source.folder };
    case "ssh":
      throw failed(`write "git::${hideCredentials(url)}" for a repository of git`);
    case "s3":
      await fetchS3(url, folder, options);
      return { folder, inner: source.folder };
    case "gcs":
    case "hg":
    case "oci":
      throw failed(
        `addresses of the kind "${getter}::" are not fetched; fetch the package in a step before and call it by its path, or publish it as an archive over https or a repository of git`,
      );
    default:
      throw failed(`addresses of the kind "${getter}" are not known`);
  }
}

/** Whether an address means files of this machine, to which nothing from elsewhere may send. */
export function isOfThisMachine({ getter, url }: RemoteModuleSource): boolean {
  return getter === "file" || /^file:/i.test(url) || !/^[a-z][a-z0-9+.-]*:\/\//i.test(url);
}

/** An archive of this machine. Folders are called where they lie. */
async function takeFile(url: string, folder: string, options: FetchOptions): Promise<void> {
  const path = fileURLToPath(new URL(url.replace(/\?.*$/s, "")));
  const kind = archiveKind(path, new URL(url).searchParams.get("archive"));
  const stats = await stat(path).catch(() => undefined);
  if (kind === undefined || stats?.isFile() !== true) {
    if (stats?.isDirectory() !== true) throw failed(`there is no folder and no archive at ${path}`);
    await cp(path, folder, { recursive: true, verbatimSymlinks: true });
    return;
  }
  await unpackModule(path, kind, folder, options);
}

function failed(why: string): ModuleError {
  return new ModuleError("Failed to download module", `The package cannot be fetched: ${why}.`);
}
