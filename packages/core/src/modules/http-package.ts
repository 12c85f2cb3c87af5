import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ModuleError } from "@stackwright/lang";
import { downloadKept, type InstallHttpClient, requireOk } from "@stackwright/tfplugin/install";
import { archiveKind, KEPT_ARCHIVE_BYTES, unpackModule } from "./module-archive.ts";
import { checkModuleFile } from "./module-checksum.ts";
import { DEFAULT_MODULE_LIMITS, type ModuleLimits } from "./module-tree.ts";
import { packageSourceOf } from "./page-source.ts";

export interface HttpPackageOptions {
  readonly http: InstallHttpClient;
  readonly limits?: ModuleLimits;
  readonly signal: AbortSignal;
}

/** Fetches and unpacks an archive, or returns the address that a page sends to. */
export async function fetchHttp(
  text: string,
  folder: string,
  { http, limits, signal }: HttpPackageOptions,
): Promise<{ readonly next: string } | undefined> {
  const url = new URL(text);
  const [archive, checksum] = [take(url, "archive"), take(url, "checksum")];
  const kind = archiveKind(url.pathname, archive);
  if (kind === undefined) {
    if (checksum !== null) {
      const detail = "A checksum can be given for archives only.";
      throw new ModuleError("Failed to download module", detail);
    }
    return { next: await sentTo(url, http, signal) };
  }
  await using scratch = new AsyncDisposableStack();
  const path = async (): Promise<string> => {
    const made = await mkdtempDisposable(join(tmpdir(), "stackwright-module-"));
    return join(scratch.use(made).path, "archive");
  };
  const { maxBytes } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  const keepBytes = kind === "tar.gz" ? KEPT_ARCHIVE_BYTES : 0;
  const options = { http, maxBytes, resumes: 5, signal };
  const { content } = await downloadKept(url, { keepBytes, path }, options);
  if (checksum !== null) {
    await checkModuleFile(content, basename(url.pathname), checksum, async (list) =>
      Buffer.from(await http.bytes(new URL(list, url), { signal })).toString("utf8"),
    );
  }
  await unpackModule(content, kind, folder, { ...(limits && { limits }), signal });
  return undefined;
}

/** Where a page says that the package is: in a header, else in its head. */
async function sentTo(url: URL, http: InstallHttpClient, signal: AbortSignal): Promise<string> {
  url.searchParams.set("terraform-get", "1");
  const response = await http.get(url, { signal });
  await requireOk(url, response);
  const header = response.headers.get("x-terraform-get");
  if (header !== null && header !== "") {
    await response.body?.cancel();
    return absolute(header, url);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of http.parts(response)) {
    parts.push(part);
    bytes += part.length;
    if (bytes > 1024 * 1024) break;
  }
  const found = packageSourceOf(Buffer.concat(parts).toString("utf8"));
  if (found !== undefined) return absolute(found.replaceAll("&amp;", "&"), url);
  const detail = `No source URL was returned by ${url.origin}${url.pathname}: its ending is not that of an archive, and the response has neither the header X-Terraform-Get nor a meta element terraform-get. Add archive=zip (or the like) to the address of an archive.`;
  throw new ModuleError("Failed to download module", detail);
}

/** An address that begins with a slash or dots belongs to the page that it stands on. */
export function absolute(location: string, page: URL): string {
  if (!/^(?:\/|\.\.?\/)/.test(location)) return location;
  // The folder in the package is no part of the URL.
  const split = location.indexOf("//", 1);
  if (split < 0) return new URL(location, page).href;
  return new URL(location.slice(0, split), page).href + location.slice(split);
}

function take(url: URL, name: string): string | null {
  const value = url.searchParams.get(name);
  url.searchParams.delete(name);
  return value;
}
