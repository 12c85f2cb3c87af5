import {
  isStrictVersion,
  type ProviderAddress,
  parsePackageHash,
  Version,
} from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { goneVersion } from "./gone-version.ts";
import { type InstallHttpClient, invalidResponse, isRecord } from "./http-client.ts";
import type { PackageInstallationSource } from "./provider-source.ts";

/**
 * Packages on a web server that has a copy of those of registries. `url` ends with a slash. The command's configuration
 * allows https only, since nothing else vouches for the hashes; here that is for the caller that makes the URL.
 *
 * Source: Terraform's provider network mirror protocol.
 */
export function networkMirror(base: string, http: InstallHttpClient): PackageInstallationSource {
  if (!URL.canParse(base)) {
    throw new TfpluginError(
      "TFPLUGIN_OPTIONS_INVALID",
      `${JSON.stringify(base)} is not a valid URL`,
    );
  }
  // Hosts are in ASCII here: this is an address for machines.
  const urlOf = ({ host, namespace, type }: ProviderAddress, document: string): URL =>
    new URL(
      `./${encodeURIComponent(host).replace("%3A", ":")}/${namespace}/${type}/${document}.json`,
      base,
    );
  const name = `the mirror ${base}`;
  return {
    name,

    async versions(address, signal) {
      const url = urlOf(address, "index");
      const index = await http.json(url, { authorize: true, signal });
      if (index === undefined) return undefined;
      if (!isRecord(index.versions)) throw invalidResponse(url, "it has no versions");
      return Object.keys(index.versions).filter(isStrictVersion).map(Version.parse);
    },

    async offer({ address, version, platform }, signal) {
      const url = urlOf(address, version.toString());
      const gone = (reason: string | undefined) => goneVersion({ address, version }, name, reason);
      const document = await http.json(url, { authorize: true, gone, signal });
      if (document === undefined) return undefined;
      if (!isRecord(document.archives)) throw invalidResponse(url, "it has no archives");
      const archive = document.archives[platform.toString()];
      if (archive === undefined) return undefined;
      if (
        !isRecord(archive) ||
        typeof archive.url !== "string" ||
        !URL.canParse(archive.url, url.href)
      ) {
        throw invalidResponse(url, `the archive for ${platform.toString()} has no URL`);
      }
      const given: readonly unknown[] = Array.isArray(archive.hashes) ? archive.hashes : [];
      const hashes = given.filter((hash) => typeof hash === "string").map(parsePackageHash);
      return {
        location: { kind: "download", url: new URL(archive.url, url) },
        hashes,
        signed: [],
        authentication: hashes.length > 0 ? { kind: "checksum" } : { kind: "none" },
      };
    },
  };
}
