import {
  hideCredentials,
  ModuleError,
  type PackageSource,
  parseModuleSource,
  type RemoteModuleSource,
} from "@stackwright/lang";
import { Version, type VersionConstraints } from "@stackwright/provider-source";
import {
  type CliConfiguration,
  type Fetch,
  InstallHttpClient,
  serviceDiscovery,
} from "@stackwright/tfplugin/install";
import { fetchPackage, isOfThisMachine } from "./fetch-package.ts";
import { type CachedPackage, ModuleCache } from "./module-cache.ts";
import type { LockedModule } from "./module-lock.ts";
import type { ModuleLimits } from "./module-tree.ts";
import { readNetrc } from "./netrc.ts";
import { pathIn } from "./package-path.ts";
import { ModuleRegistry } from "./registry-modules.ts";

export interface PackageFetcherOptions {
  /** The folder of the cache. */
  readonly cache: string;
  readonly env: NodeJS.ProcessEnv;
  readonly configuration: Pick<CliConfiguration, "hosts" | "tokens" | "registryHttp">;
  readonly signal: AbortSignal;
  /** Nothing is fetched: only what the cache has by the lock file is used. @default false */
  readonly offline?: boolean;
  readonly limits?: ModuleLimits;
  /** Says why a package must not be fetched from an address, which a registry or a page may have sent to. @default all may be fetched */
  readonly refuse?: (source: RemoteModuleSource) => string | undefined;
  /** For private authorities and tests. @default that of Node */
  readonly fetch?: Fetch;
}

/** A package in the cache, and what it is. */
export interface ResolvedPackage extends CachedPackage {
  readonly version?: string;
  readonly commit?: string;
  /** The folder in it that the address of a registry's version names. */
  readonly inner: string;
}

/** Brings packages into the cache, each once. */
export class PackageFetcher {
  readonly #options: PackageFetcherOptions;
  readonly #cache: ModuleCache;
  readonly #fetched = new Map<string, Promise<ResolvedPackage>>();
  readonly #http: InstallHttpClient;
  readonly #registry: ModuleRegistry;

  private constructor(options: PackageFetcherOptions, logins: ReadonlyMap<string, string>) {
    const { configuration, signal, limits, cache } = options;
    this.#options = options;
    this.#cache = new ModuleCache(cache, { ...(limits && { limits }), signal });
    const { tokens, hosts, registryHttp } = configuration;
    const fetchOf = withLogins(options.fetch ?? ((url, init) => fetch(url, init)), logins);
    this.#http = new InstallHttpClient({ fetch: fetchOf, tokens, ...registryHttp });
    const discover = serviceDiscovery({ http: this.#http, hosts });
    this.#registry = new ModuleRegistry({ http: this.#http, discover, signal });
  }

  static async open(options: PackageFetcherOptions): Promise<PackageFetcher> {
    return new PackageFetcher(options, await readNetrc(options.env));
  }

  /** The package of a source, as the lock file has it where it does. Rejects with a `ModuleError` where it is another one. */
  async resolve(
    source: PackageSource,
    constraints: VersionConstraints | undefined,
    locked: LockedModule | undefined,
  ): Promise<ResolvedPackage> {
    const cached = locked && (await this.#cache.find(locked.hash));
    if (cached !== undefined && locked !== undefined && source.kind === "remote") {
      const { commit } = locked;
      return { ...cached, inner: ".", ...(commit !== undefined && { commit }) };
    }
    const found =
      source.kind === "registry"
        ? await this.#version(source, constraints, locked)
        : await this.#once(source.address + (locked?.commit ?? ""), async () =>
            this.#remote(source, locked?.commit),
          );
    if (locked === undefined || found.hash === locked.hash) return found;
    const what = locked.version === undefined ? "" : ` of version ${locked.version}`;
    const detail = `The package${what} has the hash ${found.hash}, and the lock file has ${locked.hash}. If the change is wanted, run "stackwright init -upgrade".`;
    throw new ModuleError("Failed to download module", detail);
  }

  async copy(found: ResolvedPackage, place: string): Promise<boolean> {
    if (await this.#cache.copy(found, place)) return true;
    this.#fetched.clear();
    return false;
  }

  async #version(
    source: Extract<PackageSource, { readonly kind: "registry" }>,
    constraints: VersionConstraints | undefined,
    locked: LockedModule | undefined,
  ): Promise<ResolvedPackage> {
    const given = locked?.version;
    if (given === undefined) this.#requireNetwork();
    const version =
      given === undefined ? await this.#registry.newest(source, constraints) : Version.parse(given);
    const name = `${source.address} ${version.toString()}`;
    return this.#once(name, async () => {
      const before = await this.#cache.findNamed(name);
      if (before !== undefined) return { ...before, version: version.toString() };
      this.#requireNetwork();
      const location = await this.#registry.location(source, version);
      const remote = this.#locationSource(location, source.address);
      const found = await this.#remote({ ...remote, folder: "." }, undefined, name, remote.folder);
      return { ...found, inner: remote.folder, version: version.toString() };
    });
  }

  #locationSource(location: string, address: string): RemoteModuleSource {
    try {
      const source = parseModuleSource(location);
      if (source.kind === "remote" && !isOfThisMachine(source)) return source;
    } catch (error) {
      if (!(error instanceof ModuleError)) throw error;
    }
    const detail = `The registry sends for "${address}" to "${hideCredentials(location)}", which is not the address of a package.`;
    throw new ModuleError("Invalid package location from module registry", detail);
  }

  async #remote(
    source: RemoteModuleSource,
    commit: string | undefined,
    name?: string,
    inner = ".",
  ): Promise<ResolvedPackage> {
    this.#requireNetwork(source);
    const { env, signal, limits, refuse } = this.#options;
    let fetched: string | undefined;
    const cached = await this.#cache.add(
      async (folder) => {
        const options = {
          http: this.#http,
          env,
          signal,
          ...(limits && { limits }),
          ...(refuse && { refuse }),
        };
        const found = await fetchPackage(source, folder, {
          ...options,
          ...(commit !== undefined && { commit }),
        });
        fetched = found.commit;
        await pathIn(found.folder, inner);
        return found.folder;
      },
      name === undefined ? undefined : { name, inner },
    );
    return { ...cached, inner: ".", ...(fetched !== undefined && { commit: fetched }) };
  }

  #once(key: string, fetch: () => Promise<ResolvedPackage>): Promise<ResolvedPackage> {
    const known = this.#fetched.get(key);
    if (known !== undefined) return known;
    const found = fetch();
    this.#fetched.set(key, found);
    return found;
  }

  #requireNetwork(source?: RemoteModuleSource): void {
    if (this.#options.offline !== true || source?.getter === "file") return;
    const detail = "It is not in the cache of modules, and the command works offline.";
    throw new ModuleError("Failed to download module", detail);
  }
}

/** Adds the login of a URL, or that of the user for its host, to requests without other credentials. */
function withLogins(fetchOf: Fetch, logins: ReadonlyMap<string, string>): Fetch {
  return async (url, init) => {
    if (logins.size === 0 && url.username === "" && url.password === "") return fetchOf(url, init);
    const { username, password, hostname } = url;
    const own = Buffer.from(
      `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
    ).toString("base64");
    const login = username === "" && password === "" ? logins.get(hostname) : own;
    const plain = new URL(url);
    plain.username = "";
    plain.password = "";
    const headers = new Headers(init.headers);
    if (login !== undefined && !headers.has("authorization")) {
      headers.set("authorization", `Basic ${login}`);
    }
    return fetchOf(plain, { ...init, headers });
  };
}
