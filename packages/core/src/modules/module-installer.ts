import { randomBytes } from "node:crypto";
import { mkdir, realpath, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Semaphore } from "@stackwright/base/limiter";
import {
  type BundleFiles,
  formatModuleSource,
  hideCredentials,
  type ModuleCall,
  ModuleError,
  type ModuleNode,
  type ModulePackageLocation,
  type ModulePackages,
  type PackageRequest,
  type PackageSource,
  parseModuleSource,
  type RemoteModuleSource,
} from "@stackwright/lang";
import { isStrictVersion, Version } from "@stackwright/provider-source";
import { modulesOf } from "../configuration/configuration-digest.ts";
import { archiveKind } from "./module-archive.ts";
import { replaceFolder } from "./module-cache.ts";
import { type LockedModule, ModuleLock } from "./module-lock.ts";
import { type ModuleRecord, readModuleManifest, writeModuleManifest } from "./module-manifest.ts";
import { hashModuleTree } from "./module-tree.ts";
import type { PackageFetcher, ResolvedPackage } from "./package-fetcher.ts";
import { pathIn } from "./package-path.ts";
import { isFolder } from "./small-files.ts";

/** What may be done about modules that are not installed. */
export type InstallMode =
  /** They are an error. */
  | "never"
  /** They are installed, in the versions of the lock file where it has them. */
  | "missing"
  /** All are installed again, in the newest versions that are allowed. */
  | "upgrade";

export interface ModuleInstallerOptions {
  /** The files of the root module. */
  readonly files: BundleFiles;
  /** The folder of the root module. */
  readonly directory: string;
  /** The folder that installed modules belong to, as paths of modules begin with it: `.terraform`, or `TF_DATA_DIR`. */
  readonly dataFolder: string;
  readonly mode: InstallMode;
  readonly lock: ModuleLock;
  /** Locks the versions of modules of a registry that the reference command installed. @default false */
  readonly adopts?: boolean;
  /** Made when something has to be fetched. */
  readonly fetcher: () => Promise<PackageFetcher>;
  /** Packages that are fetched at the same time. @default 8 */
  readonly concurrency?: number;
}

/** What the keys of modules of test runs begin with. */
export const TEST_MODULES = "test";

/** The module of a run of a test. */
export interface TestModule {
  /** What it is installed under: `test`, the folder and name of the file, the name of the run. */
  readonly path: readonly string[];
  readonly call: ModuleCall;
  readonly root: ModuleNode;
}

/** What an installation came to. */
export interface InstalledModules {
  /** All calls, with the root module. */
  readonly modules: readonly ModuleRecord[];
  readonly lock: ModuleLock;
  /** What was installed just now. */
  readonly installed: readonly ModuleRecord[];
}

/**
 * Finds the packages of modules where the reference command has them, and installs what is missing. A package is put in its place
 * by one rename; the list of modules and the lock file are written when the whole tree is loaded.
 */
export class ModuleInstaller implements ModulePackages {
  readonly #options: ModuleInstallerOptions;
  readonly #semaphore: Semaphore;
  readonly #folder: string;
  readonly #versions = new Map<string, string>();
  readonly #used: LockedModule[] = [];
  readonly #installed = new Set<string>();
  #manifest: Promise<ReadonlyMap<string, ModuleRecord>> | undefined;

  constructor(options: ModuleInstallerOptions) {
    this.#options = options;
    this.#semaphore = new Semaphore(options.concurrency ?? 8);
    this.#folder = posix.join(options.dataFolder, "modules");
  }

  async locate(request: PackageRequest): Promise<ModulePackageLocation> {
    const { path, source } = request;
    const key = path.join(".");
    const packageFolder = posix.join(this.#folder, key);
    const installed = await this.#find(request, key);
    if (installed !== undefined) return this.#placed(source, installed, packageFolder);
    if (this.#options.mode === "never") {
      const detail = `The module "${key}" from "${this.#shown(request)}" is not installed. Run "stackwright init".`;
      throw new ModuleError("Module not installed", detail);
    }
    try {
      const folder = await this.#semaphore.run(async () =>
        source.kind === "remote" && (await isLocalFolder(source))
          ? this.#link(source, packageFolder)
          : this.#install(request, key, packageFolder),
      );
      this.#installed.add(key);
      return await this.#placed(source, posix.join(packageFolder, folder), packageFolder);
    } catch (error) {
      if (error instanceof ModuleError) {
        const detail = `${error.message} The module "${key}" comes from "${this.#shown(request)}".`;
        throw new ModuleError(error.summary, detail, { cause: error });
      }
      throw explained(error, key, this.#shown(request));
    }
  }

  /** Writes down what a loaded tree has, unless nothing of it comes from elsewhere. */
  async finish(
    root: ModuleNode,
    isComplete: boolean,
    tests?: readonly TestModule[],
  ): Promise<InstalledModules> {
    const { lock, directory } = this.#options;
    const former = await this.#records();
    const ofTests = (tests ?? []).flatMap(({ path, call, root: top }) =>
      [...modulesOf(top)].map((node) =>
        this.#recordOf({ call, ...node, path: [...path, ...node.path] }),
      ),
    );
    const modules = [...modulesOf(root)].map((node) => this.#recordOf(node)).concat(ofTests);
    const installed = modules.filter(({ key }) => this.#installed.has(key));
    const known = new Set(modules.map(({ key }) => key));
    // What runs of tests need is known where the tests are loaded.
    const kept = [...former.values()].filter(
      ({ key }) => !known.has(key) && (!isComplete || (tests === undefined && isOfTest(key))),
    );
    const all = [...modules, ...kept];
    const isNew =
      all.length !== former.size || all.some((one) => !isEqual(one, former.get(one.key)));
    const roots = [root, ...(tests ?? []).map((test) => test.root)];
    const comesFromElsewhere = roots.some((top) =>
      [...modulesOf(top)].some((node) => node.packageFolder !== undefined),
    );
    if (isNew && (comesFromElsewhere || former.size > 0)) {
      await writeModuleManifest(resolve(directory, this.#folder), all);
    }
    const sources = new Set(kept.map(({ source }) => source));
    const others = lock.entries().filter(({ address }) => !isComplete || sources.has(address));
    return { modules, lock: ModuleLock.of([...others, ...this.#used]), installed };
  }

  async #placed(
    source: PackageSource,
    folder: string,
    packageFolder: string,
  ): Promise<ModulePackageLocation> {
    const { files, directory } = this.#options;
    if (source.kind !== "remote" || source.getter !== "file") {
      return { files, folder, packageFolder };
    }
    // What a linked folder calls is where the folder really is.
    const real = await realpath(resolve(directory, packageFolder));
    const base = posix.join(real, posix.relative(packageFolder, folder));
    return { files, folder, packageFolder: real, base };
  }

  #shown({ source }: PackageRequest): string {
    return hideCredentials(formatModuleSource(source));
  }

  #records(): Promise<ReadonlyMap<string, ModuleRecord>> {
    const { directory } = this.#options;
    this.#manifest ??= readModuleManifest(resolve(directory, this.#folder));
    return this.#manifest;
  }

  /** The folder of a module that is installed and fits its call and the lock file. */
  async #find(request: PackageRequest, key: string): Promise<string | undefined> {
    const { mode, lock, directory } = this.#options;
    const { source, call } = request;
    if (mode === "upgrade") return undefined;
    const record = (await this.#records()).get(key);
    const names = [formatModuleSource(source), this.#shown(request)];
    if (record === undefined || !names.includes(record.source)) return undefined;
    const locked = lock.exact(hideCredentials(source.address), call.version?.toString());
    if (source.kind === "registry") {
      const { version } = record;
      if (version === undefined || !isStrictVersion(version)) return undefined;
      if (call.version?.allows(Version.parse(version)) === false) return undefined;
      if (locked?.version !== undefined && locked.version !== version) return undefined;
      this.#versions.set(key, version);
    }
    if (!isFolder(resolve(directory, record.dir))) return undefined;
    if (locked !== undefined) this.#used.push(locked);
    else if (source.kind === "registry" && this.#options.adopts === true) {
      // Installed by the reference command: from now on it stays what it is.
      const hash = await hashModuleTree(resolve(directory, this.#folder, key));
      this.#use(request, { hash, version: record.version });
    }
    return record.dir;
  }

  async #install(request: PackageRequest, key: string, packageFolder: string): Promise<string> {
    const { mode, lock, directory } = this.#options;
    const { source, call } = request;
    const fetcher = await this.#options.fetcher();
    const address = hideCredentials(source.address);
    const constraints = call.version?.toString();
    const candidates = [lock.exact(address, constraints), ...lock.all(address)];
    const locked =
      mode === "upgrade"
        ? undefined
        : candidates.find(
            (one) =>
              one !== undefined &&
              (one.version === undefined ||
                call.version?.allows(Version.parse(one.version)) !== false),
          );
    const place = resolve(directory, packageFolder);
    let found: ResolvedPackage;
    let folder: string;
    let tries = 0;
    do {
      // A package in the cache that is not what its hash says is fetched again.
      if (tries++ > 1) throw new Error("the cache of modules does not keep what is put into it");
      found = await fetcher.resolve(source, call.version, locked);
      folder = await pathIn(found.path, found.inner, source.folder);
    } while (!(await fetcher.copy(found, place)));
    if (found.version !== undefined) this.#versions.set(key, found.version);
    this.#use(request, found);
    return folder;
  }

  /** A folder of this machine is called in place. */
  async #link(source: RemoteModuleSource, packageFolder: string): Promise<string> {
    const place = resolve(this.#options.directory, packageFolder);
    const fresh = `${place}.${randomBytes(6).toString("hex")}.partial`;
    await mkdir(dirname(place), { recursive: true });
    await symlink(await realpath(localFolder(source)), fresh);
    try {
      await replaceFolder(fresh, place);
    } finally {
      await rm(fresh, { force: true });
    }
    return pathIn(place, source.folder);
  }

  #use(
    { source, call }: PackageRequest,
    found: {
      readonly hash: string;
      readonly version?: string | undefined;
      readonly commit?: string | undefined;
    },
  ): void {
    const { hash, version, commit } = found;
    const constraints = call.version?.toString();
    this.#used.push({
      address: hideCredentials(source.address),
      hash,
      ...(constraints !== undefined && { constraints }),
      ...(version !== undefined && { version }),
      ...(commit !== undefined && { commit }),
    });
  }

  #recordOf({ path, folder, call }: Pick<ModuleNode, "path" | "folder" | "call">): ModuleRecord {
    const key = path.join(".");
    const source = call === undefined ? "" : parseModuleSource(call.source);
    const version = this.#versions.get(key);
    return {
      key,
      source: source === "" ? "" : hideCredentials(formatModuleSource(source)),
      ...(version !== undefined && { version }),
      dir: folder,
    };
  }
}

function isOfTest(key: string): boolean {
  return key.startsWith(`${TEST_MODULES}.`);
}

function isEqual(a: ModuleRecord, b: ModuleRecord | undefined): boolean {
  return a.source === b?.source && a.version === b.version && a.dir === b.dir;
}

function localFolder({ url }: RemoteModuleSource): string {
  return fileURLToPath(new URL(url.replace(/\?.*$/s, "")));
}

/** Whether an address is an absolute path to a folder, which is no archive. */
async function isLocalFolder({ getter, url }: RemoteModuleSource): Promise<boolean> {
  if (getter !== "file") return false;
  const path = localFolder({ url } as RemoteModuleSource);
  const stats = await stat(path).catch(() => undefined);
  return stats?.isDirectory() === true || archiveKind(join(path), null) === undefined;
}

function explained(error: unknown, key: string, source: string): ModuleError | Error {
  if (error instanceof Error && error.name === "AbortError") return error;
  const why = hideCredentials(error instanceof Error ? error.message : String(error));
  const detail = `The module "${key}" cannot be downloaded from "${source}": ${why}.`;
  return new ModuleError("Failed to download module", detail, { cause: error });
}
