import type { BlobStore } from "@stackwright/storage/blob";
import { TfpluginError } from "@stackwright/tfplugin";
import type { ExecutionHost } from "./executor.ts";

interface AccountRegistryParts {
  readonly host: Pick<ExecutionHost, "readRegistry">;
  readonly blobs: BlobStore;
  /** Hosts that mean the registry. */
  readonly ownHosts: readonly string[];
  readonly signal: AbortSignal;
}

const MODULES = "/modules/";
const ARCHIVES = "/archives/";

/**
 * The module registry protocol over the store that a run has already: for addresses of the server itself, without a connection to it. Undefined
 * for other hosts. A withdrawn version answers 410 with its reason.
 */
export function accountRegistry(
  parts: AccountRegistryParts,
): (url: URL) => Promise<Response | undefined> {
  const { blobs, ownHosts, signal } = parts;
  return async ({ protocol, host, pathname }) => {
    if (protocol !== "https:" || !ownHosts.includes(host)) return undefined;
    if (pathname === "/.well-known/terraform.json") return json({ "modules.v1": MODULES });
    if (pathname.startsWith(ARCHIVES)) {
      const [, sha256 = ""] = /^\/archives\/([0-9a-f]{64})\//.exec(pathname) ?? [];
      return new Response(ReadableStream.from(blobs.read(sha256, { signal })), {
        headers: { "content-type": "application/gzip" },
      });
    }
    const [namespace = "", name = "", system = "", version = "", action] = pathname
      .slice(MODULES.length)
      .split("/");
    const { versions, withdrawn } = await parts.host.readRegistry({
      kind: "module",
      namespace,
      name,
      system,
    });
    if (versions.length + withdrawn.length === 0) return missing(`there is no such module`);
    if (action === undefined) {
      return json({ modules: [{ versions: versions.map((one) => ({ version: one.version })) }] });
    }
    const found = versions.find((one) => one.version === version);
    if (found === undefined) {
      const gone = withdrawn.find((one) => one.version === version);
      if (gone === undefined) return missing(`there is no version ${version}`);
      const why = gone.reason === "" ? "" : `: ${gone.reason}`;
      throw new TfpluginError(
        "TFPLUGIN_REGISTRY_INVALID",
        `version ${version} was withdrawn${why}`,
      );
    }
    const { archiveSha256 } = found;
    const file = `${name}-${version}.tar.gz?archive=tar.gz&checksum=sha256:${archiveSha256}`;
    const headers = { "x-terraform-get": `${ARCHIVES}${archiveSha256}/${file}` };
    return new Response(null, { status: 204, headers });
  };
}

function json(body: object): Response {
  return new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } });
}

function missing(error: string): Response {
  const headers = { "content-type": "application/json" };
  return new Response(JSON.stringify({ errors: [error] }), { status: 404, headers });
}
