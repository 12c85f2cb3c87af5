import { ModuleError, type RegistryModuleSource } from "@stackwright/lang";
import { isStrictVersion, Version, VersionConstraints } from "@stackwright/provider-source";
import {
  hostKey,
  type InstallHttpClient,
  requireOk,
  type ServiceDiscovery,
} from "@stackwright/tfplugin/install";
import { absolute } from "./http-package.ts";

interface ModuleRegistryOptions {
  readonly http: InstallHttpClient;
  readonly discover: ServiceDiscovery;
  readonly signal: AbortSignal;
}

const SERVICE = "modules.v1";

/**
 * The registries of modules, found by service discovery. Each is asked for the versions of a module once.
 *
 * Source: Terraform's module registry protocol.
 */
export class ModuleRegistry {
  readonly #options: ModuleRegistryOptions;
  readonly #versions = new Map<string, Promise<readonly Version[]>>();

  constructor(options: ModuleRegistryOptions) {
    this.#options = options;
  }

  /** The newest version that the constraint of a call allows. Rejects with a `ModuleError` where there is none. */
  async newest(
    source: RegistryModuleSource,
    constraints: VersionConstraints = VersionConstraints.any,
  ): Promise<Version> {
    const known = this.#versions.get(source.address) ?? this.#list(source);
    this.#versions.set(source.address, known);
    const versions = await known;
    const found = constraints.newestMatching(versions);
    if (found !== undefined) return found;
    const latest = VersionConstraints.any.newestMatching(versions);
    if (versions.length === 0) {
      const detail = `The registry of ${source.host} has no versions of the module "${source.address}".`;
      throw new ModuleError("Module has no versions", detail);
    }
    const newest = latest === undefined ? "" : ` The newest version is ${latest.toString()}.`;
    const detail = `No version of the module "${source.address}" fits "${constraints.toString()}".${newest}`;
    throw new ModuleError("Unresolvable module version constraint", detail);
  }

  async #list(source: RegistryModuleSource): Promise<readonly Version[]> {
    const { http, signal } = this.#options;
    const url = new URL(`./${pathOf(source)}/versions`, await this.#base(source));
    const document = await http
      .json(url, { authorize: hostKey(source.host), signal })
      .catch((error: unknown) => this.#failed(source, error));
    if (document === undefined) {
      const detail = `The registry of ${source.host} does not have the module "${source.address}".`;
      throw new ModuleError("Module not found", detail);
    }
    const [module] = Array.isArray(document["modules"]) ? (document["modules"] as unknown[]) : [];
    const versions = (module as { readonly versions?: unknown } | undefined)?.versions;
    return (Array.isArray(versions) ? (versions as unknown[]) : [])
      .map((entry) => (entry as { readonly version?: unknown } | null)?.version)
      .filter((text): text is string => typeof text === "string" && isStrictVersion(text))
      .map((text) => Version.parse(text));
  }

  /** The address of the package of a version. */
  async location(source: RegistryModuleSource, version: Version): Promise<string> {
    const { http, signal } = this.#options;
    const path = `./${pathOf(source)}/${version.toString()}/download`;
    const url = new URL(path, await this.#base(source));
    let response: Response;
    try {
      response = await http.get(url, { authorize: hostKey(source.host), signal });
      if (response.status === 410) return await this.#withdrawn(source, version, response);
      await requireOk(url, response, hostKey(source.host));
    } catch (error) {
      return this.#failed(source, error);
    }
    const location = response.headers.get("x-terraform-get");
    await response.body?.cancel();
    if (location !== null && location !== "") return absolute(location, url);
    return this.#failed(
      source,
      new Error(`${url.host} names no package (X-Terraform-Get is missing)`),
    );
  }

  async #base(source: RegistryModuleSource): Promise<URL> {
    const { discover, signal } = this.#options;
    const base = await discover(source.host, SERVICE, signal).catch((error: unknown) =>
      this.#failed(source, error),
    );
    if (base !== undefined) return base;
    const detail = `The host ${source.host} does not offer a registry of modules (${SERVICE}), which the source "${source.address}" needs.`;
    throw new ModuleError("Error accessing remote module registry", detail);
  }

  /** A version that a lock file or an exact constraint names, and that the registry gave up. */
  async #withdrawn(
    { address }: RegistryModuleSource,
    version: Version,
    response: Response,
  ): Promise<never> {
    const reason = await this.#options.http.refusal(response);
    const said = reason === undefined ? "" : ` It says: ${reason}.`;
    const detail = `The registry offers version ${version.toString()} of the module "${address}" no longer.${said} Allow another version, and take it with "init --upgrade".`;
    throw new ModuleError("Module version withdrawn", detail);
  }

  #failed({ address }: RegistryModuleSource, cause: unknown): never {
    this.#options.signal.throwIfAborted();
    if (cause instanceof ModuleError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    const detail = `The registry cannot be asked for the module "${address}": ${why}.`;
    throw new ModuleError("Error accessing remote module registry", detail, { cause });
  }
}

function pathOf({ namespace, name, system }: RegistryModuleSource): string {
  return `${namespace}/${name}/${system}`;
}
