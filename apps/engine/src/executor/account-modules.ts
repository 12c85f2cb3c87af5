import { TfpluginError } from "@stackwright/tfplugin";
import {
  type AccountProtocol,
  type AccountRegistryParts,
  accountRegistry,
  json,
  missing,
} from "./account-registry.ts";

const MODULES = "/modules/";
const ARCHIVES = "/archives/";

/** The module registry protocol for the modules of the account of a run. A withdrawn version is refused with its reason. */
export function accountModules(
  parts: AccountRegistryParts,
): (url: URL) => Promise<Response | undefined> {
  return accountRegistry(parts, { "modules.v1": MODULES }, moduleProtocol(parts));
}

function moduleProtocol({
  host,
  blobs,
  signal,
}: Omit<AccountRegistryParts, "ownHosts">): AccountProtocol {
  return async (pathname) => {
    if (pathname.startsWith(ARCHIVES)) {
      const [, sha256 = ""] = /^\/archives\/([0-9a-f]{64})\//.exec(pathname) ?? [];
      return new Response(ReadableStream.from(blobs.read(sha256, { signal })), {
        headers: { "content-type": "application/gzip" },
      });
    }
    if (!pathname.startsWith(MODULES)) return undefined;
    const [namespace = "", name = "", system = "", version = "", action] = pathname
      .slice(MODULES.length)
      .split("/");
    const { versions, withdrawn } = await host.readRegistry({
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
