import { posix } from "node:path";
import { DEFAULT_REGISTRY_HOST } from "@stackwright/provider-source";
import { bundlePath } from "../function/bundle-path.ts";
import { expandRemoteAddress } from "./remote-address.ts";

/** Where a module comes from, as its `source` says. */
export type ModuleSource =
  /** A folder beside the module that calls it. */
  { readonly kind: "local"; readonly path: string } | RegistryModuleSource | RemoteModuleSource;

/** A package of a module registry, and the folder in it. */
export interface RegistryModuleSource {
  readonly kind: "registry";
  /** With the host, as in `registry.terraform.io/hashicorp/consul/aws`. */
  readonly address: string;
  readonly host: string;
  readonly namespace: string;
  readonly name: string;
  readonly system: string;
  /** `.` for the whole package. */
  readonly folder: string;
}

/** A package that is fetched from an address: git, archives, folders of this machine. */
export interface RemoteModuleSource {
  readonly kind: "remote";
  /** What fetches it, such as `git`, `https`, `file`. */
  readonly getter: string;
  /** `GETTER::URL?QUERY` without the folder; shorthands are written out. */
  readonly address: string;
  /** The URL alone, with its query. */
  readonly url: string;
  /** `.` for the whole package. */
  readonly folder: string;
}

/** A source that must be fetched. */
export type PackageSource = RegistryModuleSource | RemoteModuleSource;

/** What is wrong with a module, in the form of a diagnostic. */
export class ModuleError extends Error {
  override readonly name = "ModuleError";
  /** A few words. */
  readonly summary: string;

  constructor(summary: string, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.summary = summary;
  }
}

const LABEL = /^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$/;
const SYSTEM = /^[0-9a-z]{1,64}$/;
const HOST = /^(?=[^:]*\.)[\p{L}\p{N}.-]+(?::\d+)?$/u;
/** Hosts whose names stand for repositories and never for registries. */
const REPOSITORY_HOSTS: ReadonlySet<string> = new Set([
  "github.com",
  "bitbucket.org",
  "gist.github.com",
]);

/**
 * Reads the `source` of a module call. `//` separates a package from a folder in it. Throws a `ModuleError` where it is no
 * address.
 *
 * Source: Terraform's module sources.
 */
export function parseModuleSource(source: string): ModuleSource {
  if (/^\.\.?(?:[/\\]|$)/.test(source)) return { kind: "local", path: localPath(source) };
  const { address, folder } = splitFolder(source);
  const place = packageFolder(folder, source);
  const registry = parseRegistry(address, place);
  if (registry !== undefined) return registry;
  return parseRemote(address, place, source);
}

/** The normalised text of a source, as the manifest of installed modules has it. */
export function formatModuleSource(source: ModuleSource): string {
  if (source.kind === "local") return source.path;
  const { address, folder } = source;
  if (folder === ".") return address;
  const query = source.kind === "remote" ? address.indexOf("?") : -1;
  return query < 0
    ? `${address}//${folder}`
    : `${address.slice(0, query)}//${folder}${address.slice(query)}`;
}

/** The shortest form of a local path; it keeps its dots, without which it would be another kind of address. */
function localPath(source: string): string {
  const clean = posix.normalize(source.replaceAll("\\", "/")).replace(/(?<=.)\/$/, "");
  return clean === ".." || clean === "." || clean.startsWith("../") ? clean : `./${clean}`;
}

/** Splits the folder in a package from its address; a query belongs to the address. */
export function splitFolder(text: string): { readonly address: string; readonly folder: string } {
  const question = text.indexOf("?");
  const path = question < 0 ? text : text.slice(0, question);
  const query = question < 0 ? "" : text.slice(question);
  const scheme = path.indexOf("://");
  const cut = path.indexOf("//", scheme < 0 ? 0 : scheme + 3);
  if (cut < 0) return { address: text, folder: "" };
  return { address: path.slice(0, cut) + query, folder: path.slice(cut + 2) };
}

/** A folder in a package in its shortest form. Throws where it leads out of it. */
export function packageFolder(folder: string, source: string): string {
  if (folder.includes("\0")) throw invalidSource(source, "a path must not hold null characters");
  const clean = posix.normalize(folder === "" ? "." : folder.replace(/^\/+/, ""));
  if (clean === ".." || clean.startsWith("../")) {
    throw invalidSource(source, `the folder "${folder}" leads out of the package`);
  }
  return clean.replace(/(?<=.)\/$/, "");
}

function parseRegistry(address: string, folder: string): RegistryModuleSource | undefined {
  const parts = address.split("/");
  if (parts.length === 3) parts.unshift(DEFAULT_REGISTRY_HOST);
  const [given = "", namespace = "", name = "", system = ""] = parts;
  const host = given.toLowerCase().replace(/:443$/, "");
  const isAddress =
    parts.length === 4 &&
    HOST.test(host) &&
    !REPOSITORY_HOSTS.has(host) &&
    LABEL.test(namespace) &&
    LABEL.test(name) &&
    SYSTEM.test(system);
  // Three parts that begin with such a host are a repository, as in `github.com/owner/name`.
  if (!isAddress || REPOSITORY_HOSTS.has(namespace)) return undefined;
  const canonical = [host, namespace, name, system].join("/");
  return { kind: "registry", address: canonical, host, namespace, name, system, folder };
}

function parseRemote(address: string, folder: string, source: string): RemoteModuleSource {
  const expanded = expandRemoteAddress(address);
  if (expanded === undefined) {
    throw invalidSource(
      source,
      /^[\w.-]+(?:\/[\w.-]+)*$/.test(source)
        ? `it is neither the address of a registry nor of a repository; a local path begins with "./" or "../", as in "./${source}"`
        : /^[a-z0-9-]+:\d+\/[^/]+\/[^/]+\/[^/]+$/i.test(source)
          ? "the host of a registry is an address or a name with a dot, as registry.example.com"
          : "it is not an address of a known kind",
    );
  }
  const { getter, url } = expanded;
  // A shorthand may have a folder of its own, as `github.com/owner/name/folder`.
  const inner = splitFolder(url);
  const own = packageFolder(inner.folder, source);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(inner.address)?.[1]?.toLowerCase() ?? "";
  return {
    kind: "remote",
    getter: getter === "" ? scheme : getter,
    address: getter === "" ? inner.address : `${getter}::${inner.address}`,
    url: inner.address,
    folder: packageFolder(posix.join(own, folder), source),
  };
}

function invalidSource(source: string, why: string): ModuleError {
  const detail = `The source ${JSON.stringify(hideCredentials(source))} is not valid: ${why}.`;
  return new ModuleError("Invalid module source address", detail);
}

/** Names of query parameters that carry secrets. */
const SECRET_PARAMETERS =
  /([?&](?:sshkey|aws_access_key_secret|aws_access_token|aws_access_key_id|token|password|secret|sig|signature|(?:private|access|api)[_-](?:token|key)|x-amz-[\w-]+)=)[^&]*/gi;

/**
 * An address for messages and files: no password, no user of HTTP, where it is a token as often as a name, and no secrets of the
 * query.
 */
export function hideCredentials(address: string): string {
  return address
    .replace(/(:\/\/[^/@:]*):[^/]*@/, "$1:REDACTED@")
    .replace(/(https?:\/\/)[^/@:]+@/i, "$1REDACTED@")
    .replace(SECRET_PARAMETERS, "$1REDACTED");
}

/**
 * The folder of a local module, in the files of the module that calls it. Throws where it leads out: of a bundle, or of the
 * package that the caller belongs to. On a machine modules of no package may lie anywhere.
 */
export function joinFolder(
  folder: string,
  path: string,
  {
    machine,
    packageFolder: root,
    adviceOutside,
  }: {
    readonly machine: boolean;
    readonly packageFolder?: string;
    readonly adviceOutside?: string | undefined;
  },
): string {
  if (!machine) return bundlePath(`${folder}/${path}`, adviceOutside);
  const joined = posix.join(folder, path).replace(/(?<=.)\/$/, "");
  if (root !== undefined && joined !== root && !joined.startsWith(`${root}/`)) {
    throw new ModuleError(
      "Local module path escapes module package",
      `The path "${path}" leads out of the package of the module that calls it. Local paths in a package reach its own folders only; use the address of the other package.`,
    );
  }
  return joined;
}
