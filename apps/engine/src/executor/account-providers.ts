import type { RegisteredPackage } from "../domain/registry-query.ts";
import {
  type AccountProtocol,
  type AccountRegistryParts,
  accountRegistry,
  json,
  missing,
} from "./account-registry.ts";

const PROVIDERS = "/providers/";
const FILES = "/files/";
/** Versions `versions`, or a package `VERSION/download/OS/ARCH`, behind namespace and type. */
const ASKED = /^([^/]+)\/([^/]+)\/(?:versions|([^/]+)\/download\/([^/]+)\/([^/]+))$/;

/**
 * The provider registry protocol for the published providers that the account of a run sees. What is signed is what the server signs for
 * everyone, so that it is checked as that of any other registry.
 */
export function accountProviders(
  parts: AccountRegistryParts,
): (url: URL) => Promise<Response | undefined> {
  return accountRegistry(parts, { "providers.v1": PROVIDERS }, providerProtocol(parts));
}

function providerProtocol({
  host,
  blobs,
  signal,
}: Omit<AccountRegistryParts, "ownHosts">): AccountProtocol {
  // Files are asked for after the package that they belong to.
  const offered = new Map<string, RegisteredPackage>();

  async function versions(namespace: string, type: string): Promise<Response> {
    const { published = [] } = await host.readRegistry({ kind: "published", namespace, type });
    if (published.length === 0) return missing(`there is no provider ${namespace}/${type}`);
    return json({ versions: published });
  }

  async function download(
    { namespace, type }: { readonly namespace: string; readonly type: string },
    version: string,
    os: string,
    arch: string,
  ): Promise<Response> {
    const platform = `${os}_${arch}`;
    const query = { kind: "package", namespace, type, version, platform } as const;
    const { package: found } = await host.readRegistry(query);
    if (found === undefined) return missing(`there is no version ${version} for ${platform}`);
    const { protocols, filename, archiveSha256, signingKeys } = found;
    offered.set(archiveSha256, found);
    return json({
      protocols,
      os,
      arch,
      filename,
      download_url: `${FILES}${archiveSha256}/archive`,
      shasum: archiveSha256,
      shasums_url: `${FILES}${archiveSha256}/checksums`,
      shasums_signature_url: `${FILES}${archiveSha256}/signature`,
      signing_keys: {
        gpg_public_keys: signingKeys.map(({ keyId, asciiArmor }) => ({
          key_id: keyId,
          ascii_armor: asciiArmor,
        })),
      },
    });
  }

  function file(sha256: string, part: string): Response | undefined {
    const found = offered.get(sha256);
    if (found === undefined) return undefined;
    if (part === "checksums") return bytes(found.checksums);
    if (part === "signature") return bytes(found.signature);
    return new Response(ReadableStream.from(blobs.read(sha256, { signal })), {
      headers: { "content-type": "application/zip", "content-length": String(found.size) },
    });
  }

  return async (pathname) => {
    if (pathname.startsWith(FILES)) {
      const [sha256 = "", part = ""] = pathname.slice(FILES.length).split("/");
      return file(sha256, part);
    }
    if (!pathname.startsWith(PROVIDERS)) return undefined;
    const asked = ASKED.exec(decodeURI(pathname.slice(PROVIDERS.length)));
    if (asked === null) return undefined;
    const [, namespace = "", type = "", version, os = "", arch = ""] = asked;
    if (version === undefined) return versions(namespace, type);
    return download({ namespace, type }, version, os, arch);
  };
}

function bytes(base64: string): Response {
  return new Response(Buffer.from(base64, "base64"));
}
