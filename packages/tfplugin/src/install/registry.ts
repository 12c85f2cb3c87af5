import {
  archiveFilename,
  isStrictVersion,
  type PackageId,
  Version,
  zipHash,
} from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { hostKey } from "./cli-configuration.ts";
import { goneVersion } from "./gone-version.ts";
import { type InstallHttpClient, invalidResponse, isRecord } from "./http-client.ts";
import type { PackageInstallationSource, PackageOffer, SigningKey } from "./provider-source.ts";
import { serviceDiscovery } from "./service-discovery.ts";
import { parseChecksums, verifySignature } from "./signature.ts";

interface ProviderRegistryOptions {
  readonly http: InstallHttpClient;
  /** Service URLs by host, which take the place of discovery. @default none */
  readonly hosts?: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

const SERVICE = "providers.v1";

/**
 * The registry of the host that an address names, found by service discovery. Packages are trusted by the publisher's
 * signature of the list of their checksums.
 *
 * Source: Terraform's remote service discovery and provider registry protocols.
 */
export function directRegistry({
  http,
  hosts = new Map(),
}: ProviderRegistryOptions): PackageInstallationSource {
  const discover = serviceDiscovery({ http, hosts });

  async function baseOf(host: string, signal: AbortSignal | undefined): Promise<URL> {
    const service = await discover(host, SERVICE, signal);
    if (service !== undefined) return service;
    const text = `the host ${host} does not offer a provider registry`;
    throw new TfpluginError("TFPLUGIN_REGISTRY_INVALID", text);
  }

  return {
    name: "the registry of its host",

    async versions({ host, namespace, type }, signal) {
      const url = new URL(`./${namespace}/${type}/versions`, await baseOf(host, signal));
      const document = await http.json(url, { authorize: hostKey(host), signal });
      if (document === undefined) return undefined;
      if (!Array.isArray(document.versions)) throw invalidResponse(url, "it has no versions");
      return document.versions
        .map((entry: unknown) => (isRecord(entry) ? entry.version : undefined))
        .filter((text): text is string => typeof text === "string" && isStrictVersion(text))
        .map(Version.parse);
    },

    async offer(id, signal) {
      const { address, version, platform } = id;
      const { host, namespace, type } = address;
      const path = `./${namespace}/${type}/${version.toString()}/download/${platform.os}/${platform.arch}`;
      const url = new URL(path, await baseOf(host, signal));
      const gone = (reason: string | undefined) =>
        goneVersion(id, `the registry of ${host}`, reason);
      const document = await http.json(url, { authorize: hostKey(host), gone, signal });
      if (document === undefined) return undefined;
      requireProtocol(id, document.protocols);
      return signedOffer(id, url, document, signal);
    },
  };

  async function signedOffer(
    id: PackageId,
    url: URL,
    document: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<PackageOffer> {
    const linked = (name: string): URL => {
      const text = document[name];
      if (typeof text === "string" && URL.canParse(text, url.href)) return new URL(text, url);
      throw invalidResponse(url, `${name} is not a valid URL`);
    };
    const { filename = archiveFilename(id), shasum } = document;
    if (typeof filename !== "string" || typeof shasum !== "string") {
      throw invalidResponse(url, "filename or shasum is not a string");
    }
    const location = { kind: "download", url: linked("download_url") } as const;
    // Tokens are for the registry; files may lie elsewhere.
    const sums = await http.bytes(linked("shasums_url"), { signal });
    const signature = await http.bytes(linked("shasums_signature_url"), { signal });
    const name = `the checksums of ${id.address.toDisplay()} ${id.version.toString()}`;
    const signingKeys = keysOf(document.signing_keys);
    const armoredKeys = signingKeys.map(({ asciiArmor }) => asciiArmor);
    const keyId = await verifySignature({ document: sums, signature, armoredKeys, name });
    const checksums = parseChecksums(sums, name);
    const checksum = checksums.get(filename);
    if (checksum === undefined || checksum !== shasum.toLowerCase()) {
      const text = `${name} do not have ${filename} with the SHA-256 that the registry says`;
      throw new TfpluginError("TFPLUGIN_CHECKSUM_MISMATCH", text);
    }
    return {
      location,
      hashes: [zipHash(checksum)],
      signed: [...checksums.values()].map(zipHash),
      authentication: { kind: "signed", keyId },
      release: {
        checksums: sums,
        signature,
        signingKeys,
        filename,
        protocols: Array.isArray(document.protocols) ? document.protocols.map(String) : [],
      },
    };
  }
}

/** A package that says which protocols it speaks, and none of ours, is of no use. */
function requireProtocol({ address, version }: PackageId, protocols: unknown): void {
  if (!Array.isArray(protocols) || protocols.length === 0) return;
  if (protocols.some((protocol) => typeof protocol === "string" && /^[56](?:\.|$)/.test(protocol)))
    return;
  const text = `${address.toDisplay()} ${version.toString()} speaks protocol ${protocols.join(", ")}; 5 and 6 are known`;
  throw new TfpluginError("TFPLUGIN_PROTOCOL_UNSUPPORTED", text, { provider: address.toString() });
}

function keysOf(signingKeys: unknown): readonly SigningKey[] {
  const keys = isRecord(signingKeys) ? signingKeys.gpg_public_keys : undefined;
  if (!Array.isArray(keys)) return [];
  return keys.filter(isRecord).flatMap((key) => {
    const { ascii_armor: asciiArmor } = key;
    if (typeof asciiArmor !== "string") return [];
    const textOf = (name: string) => (typeof key[name] === "string" ? key[name] : "");
    return [
      {
        keyId: textOf("key_id"),
        asciiArmor,
        trustSignature: textOf("trust_signature"),
        source: textOf("source"),
        sourceUrl: textOf("source_url"),
      },
    ];
  });
}
