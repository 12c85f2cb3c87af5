import { readJsonObject } from "@stackwright/base/json";
import { type PackageHash, ProviderAddress, zipHash } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import { JOINED_PROVIDERS_FILE } from "./joined-file.ts";
import { localName } from "./local-provider.ts";

const PLATFORM =
  /^(?:darwin|freebsd|linux|netbsd|openbsd|windows)-(?:386|amd64|arm|arm64|loong64|ppc64le|riscv64|s390x)$/;

/** Where the plug-in of a local Pulumi provider is installed from. */
export interface PluginServer {
  readonly address: ProviderAddress;
  /** The name of the plug-in. */
  readonly name: string;
  /** URL or folder; `${NAME}`, `${VERSION}`, `${OS}` and `${ARCH}` in it are filled in. */
  readonly server: string;
  /** URL of the list of its versions; absent where none is known. */
  readonly versions?: string;
  /** SHA-256 of archives by `<os>-<arch>`. */
  readonly checksums: ReadonlyMap<string, PackageHash>;
}

/**
 * Reads from the file of joined providers where plug-ins are installed from, by full sources. `ENGINE_CONFIG_INVALID` says what is
 * wrong with it, and where.
 */
export async function parsePluginServers(
  bytes: Uint8Array,
): Promise<ReadonlyMap<string, PluginServer>> {
  const invalid = (what: string, cause?: unknown): EngineError =>
    new EngineError("ENGINE_CONFIG_INVALID", `${JOINED_PROVIDERS_FILE}: ${what}`, { cause });
  const { object } = readJsonObject(bytes);
  const { checkJoinedFile } = await import("./joined-file-schema.ts");
  const file = checkJoinedFile(object);
  if (typeof file === "string") throw invalid(file);
  const found = new Map<string, PluginServer>();
  for (const [source, { server, versions, checksums = {} }] of Object.entries(file.plugins ?? {})) {
    try {
      const address = ProviderAddress.parse(source);
      const name = localName(address, "pulumi");
      if (name === undefined) {
        throw invalid(
          `${source} does not name a plug-in: sources of plug-ins begin with stackwright.local/pulumi/`,
        );
      }
      const hashes = Object.entries(checksums).map(([platform, hex]) => {
        // One that names no platform would be passed over, and nothing checked.
        if (PLATFORM.test(platform)) return [platform, zipHash(hex)] as const;
        throw invalid(
          `"checksums" of ${source} has "${platform}": platforms are OS-ARCH with the names of Go, such as linux-amd64`,
        );
      });
      const place = /^git(?:hub|lab):/.test(server) ? releasesOf(server, name) : { server };
      if (place === undefined) {
        throw invalid(
          `${source} has the server ${server}: one of GitHub is github://api.github.com/OWNER/REPOSITORY, one of GitLab gitlab://gitlab.com/PROJECT-ID`,
        );
      }
      found.set(address.toString(), {
        address,
        name,
        ...place,
        ...(versions !== undefined && { versions }),
        checksums: new Map(hashes),
      });
    } catch (error) {
      if (error instanceof EngineError) throw error;
      throw invalid(error instanceof Error ? error.message : String(error), error);
    }
  }
  return found;
}

/**
 * The releases that an address such as `github://api.github.com/OWNER/REPOSITORY` or `gitlab://gitlab.com/PROJECT-ID` stands for, with
 * the list of them; undefined for other forms. Without a repository it is `pulumi-<name>`, as in schemas of Pulumi packages.
 */
function releasesOf(
  server: string,
  name: string,
): Pick<PluginServer, "server" | "versions"> | undefined {
  const gitlab = /^gitlab:\/\/([a-z0-9.-]+)\/(\d+)\/?$/.exec(server);
  if (gitlab !== null) {
    const [, host = "", project = ""] = gitlab;
    const versions = `https://${host}/api/v4/projects/${project}/releases`;
    return { server: `${versions}/v\${VERSION}/downloads`, versions };
  }
  const found = /^github:\/\/api\.([a-z0-9.-]+)\/([A-Za-z0-9-]+)(?:\/([A-Za-z0-9._-]+))?\/?$/.exec(
    server,
  );
  if (found === null) return undefined;
  const [, host = "", owner = "", repository = `pulumi-${name}`] = found;
  if (repository === "." || repository === "..") return undefined;
  return {
    server: `https://${host}/${owner}/${repository}/releases/download/v\${VERSION}`,
    versions: `https://api.${host}/repos/${owner}/${repository}/releases`,
  };
}
