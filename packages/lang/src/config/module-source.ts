import { bundlePath } from "../function/bundle-path.ts";

/** Where a module comes from, as its `source` says. */
export type ModuleSource =
  /** A folder of the same bundle. */
  | { readonly kind: "local"; readonly path: string }
  /** A package of a module registry, and the folder in it. */
  | { readonly kind: "registry"; readonly address: string; readonly folder: string }
  /** Anything that must be fetched from an address: git, archives. */
  | { readonly kind: "remote"; readonly address: string; readonly folder: string };

const REGISTRY =
  /^(?:[A-Za-z0-9.-]+\.[A-Za-z]{2,}(?::[0-9]+)?\/)?[0-9A-Za-z][\w-]*\/[0-9A-Za-z][\w-]*\/[0-9a-z]+$/;
/** Hosts whose names stand for git repositories and never for registries. */
const SHORTHAND = /^(?:github\.com|bitbucket\.org|gitlab\.com)\//;

/** Reads the `source` of a module call. `//` separates a package from a folder in it. */
export function parseModuleSource(source: string): ModuleSource {
  if (/^\.\.?(?:\/|$)/.test(source)) return { kind: "local", path: source };
  const match = /^((?:[a-z0-9]+::)?(?:[a-z][a-z0-9+.-]*:\/\/)?.*?)(?:\/\/([^?]*))?(\?.*)?$/.exec(
    source,
  );
  const [, address = source, folder = "", query = ""] = match ?? [];
  const place = folder === "" ? "." : bundlePath(folder);
  if (query === "" && REGISTRY.test(address) && !SHORTHAND.test(address)) {
    return { kind: "registry", address, folder: place };
  }
  return { kind: "remote", address: address + query, folder: place };
}

/** The folder of a local module, relative to the root of the bundle. Throws where it leads out. */
export function joinFolder(folder: string, path: string): string {
  return bundlePath(`${folder}/${path}`);
}
