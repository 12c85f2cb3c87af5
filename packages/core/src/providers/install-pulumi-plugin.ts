import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtempDisposable,
  readdir,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  hashDirectory,
  type PackageHash,
  Platform,
  readTarball,
  type Version,
  zipHash,
} from "@stackwright/provider-source";
import { type DigestMemory, download, InstallHttpClient } from "@stackwright/tfplugin/install";
import { EngineError } from "../errors.ts";
import { archiveOf, isServerUrl, whyUnsafe } from "./plugin-places.ts";
import type { PluginServer } from "./plugin-servers.ts";

const MAX_ARCHIVE_BYTES = 2 * 1024 ** 3;
/** How often a download that breaks off is resumed. */
const RESUMES = 5;
/** How often it is tried to be the one who puts a plug-in in its place. */
const MAX_ATTEMPTS = 8;

export interface InstallPluginOptions {
  /** The folder of plug-ins in the home of Pulumi. */
  readonly directory: string;
  /** Relative folders of servers are in here. */
  readonly cwd: string;
  /** What the lock file has for this version; empty where it has none. */
  readonly locked: readonly PackageHash[];
  readonly platform?: Platform;
  readonly http?: InstallHttpClient;
  /** Knows the hashes of plug-ins that did not change since they were read. @default none: each is read in full */
  readonly digestMemory?: DigestMemory | undefined;
  readonly signal?: AbortSignal;
}

/** A plug-in that is in its folder. */
export interface InstalledPlugin {
  /** Its folder. */
  readonly path: string;
  readonly version: Version;
  /** Those of the archive, where it was brought now, and of the files. */
  readonly hashes: readonly PackageHash[];
  /** Whether it was brought now. */
  readonly isNew: boolean;
}

/**
 * Installs one version of a plug-in as Pulumi does, in `resource-<name>-v<version>`: it appears whole, by one rename, or not at all.
 * One that is there already is only checked: by its hash in the lock file, or, where it has a checksum and no hash yet, by what is
 * brought. The archive is `pulumi-resource-<name>-v<version>-<os>-<arch>.tar.gz`, under the URL or in the folder of its server.
 *
 * `ENGINE_PROVIDER_UNAVAILABLE` where it cannot be brought, or is not what the checksums and the lock file say.
 *
 * Source: Pulumi's plug-in cache and plug-in servers.
 */
export async function installPulumiPlugin(
  plugin: PluginServer,
  version: Version,
  options: InstallPluginOptions,
): Promise<InstalledPlugin> {
  const { directory, locked, signal } = options;
  const platform = options.platform ?? Platform.ofNode();
  const path = folderOfPlugin(directory, plugin, version);
  const checksum = plugin.checksums.get(`${platform.os}-${platform.arch}`);
  // A checksum is that of an archive. Before the lock file has a hash, nothing else says that what is there came of this one.
  const isVouched = checksum === undefined || locked.length > 0;
  const present = isVouched ? await findInstalledPlugin(plugin, version, options) : undefined;
  if (present !== undefined) return present;
  await mkdir(directory, { recursive: true });
  await using scratch = await mkdtempDisposable(join(directory, ".incoming-"));
  const archive = join(scratch.path, "plugin.tar.gz");
  try {
    const packed = await fetchPlugin(plugin, version, platform, archive, options);
    if (checksum !== undefined && packed !== checksum) {
      throw refused(plugin, version, `its archive is ${packed}, and the checksum says ${checksum}`);
    }
    const unpacked = join(scratch.path, "plugin");
    await mkdir(unpacked);
    await readTarball(createReadStream(archive), {
      directory: unpacked,
      ...(signal && { signal }),
    });
    await requireProgram(plugin, version, unpacked);
    const content = await hashDirectory(unpacked, { ...(signal && { signal }) });
    const hashes = [content, packed];
    if (locked.length > 0 && !hashes.some((hash) => locked.includes(hash))) {
      throw refused(plugin, version, "its archive has none of the hashes in the lock file");
    }
    await putInPlace(unpacked, path, content, signal);
    return { path, version, hashes, isNew: true };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof EngineError) throw error;
    throw refused(plugin, version, error instanceof Error ? error.message : String(error), error);
  }
}

/** A version that is in its folder already, as the lock file says; undefined where there is none. */
export async function findInstalledPlugin(
  plugin: PluginServer,
  version: Version,
  {
    directory,
    locked,
    digestMemory,
    signal,
  }: Pick<InstallPluginOptions, "directory" | "locked" | "digestMemory" | "signal">,
): Promise<InstalledPlugin | undefined> {
  const path = folderOfPlugin(directory, plugin, version);
  const present = await presentHash(path, signal, digestMemory);
  if (present === undefined) return undefined;
  // Without a hash in the lock file nothing vouches for it, as with a package that was here before the file.
  if (locked.length > 0 && !locked.includes(present)) {
    throw refused(
      plugin,
      version,
      `the one in ${path} has none of the hashes in the lock file; remove the folder to install it again`,
    );
  }
  return { path, version, hashes: [present], isNew: false };
}

function folderOfPlugin(directory: string, { name }: PluginServer, version: Version): string {
  return join(directory, `resource-${name}-v${version.toString()}`);
}

async function fetchPlugin(
  plugin: PluginServer,
  version: Version,
  platform: Platform,
  path: string,
  { cwd, signal, http = new InstallHttpClient() }: InstallPluginOptions,
): Promise<PackageHash> {
  const filled = plugin.server
    .replaceAll("${NAME}", plugin.name)
    .replaceAll("${VERSION}", version.toString())
    .replaceAll("${OS}", platform.os)
    .replaceAll("${ARCH}", platform.arch);
  const file = archiveOf(plugin.name, version.toString(), platform);
  if (!isServerUrl(filled)) {
    await copyFile(join(resolve(cwd, filled), file), path);
    const hash = createHash("sha256");
    for await (const part of createReadStream(path)) {
      signal?.throwIfAborted();
      hash.update(part as Uint8Array);
    }
    return zipHash(hash.digest("hex"));
  }
  const url = new URL(`${filled.replace(/\/+$/, "")}/${encodeURIComponent(file)}`);
  const unsafe = whyUnsafe(url);
  if (unsafe !== undefined) throw refused(plugin, version, unsafe);
  return download(url, path, { http, maxBytes: MAX_ARCHIVE_BYTES, resumes: RESUMES, signal });
}

async function presentHash(
  path: string,
  signal: AbortSignal | undefined,
  memory: DigestMemory | undefined,
): Promise<PackageHash | undefined> {
  // Pulumi leaves this mark next to a folder while it fills it.
  return (await exists(`${path}.partial`)) ? undefined : steadyHash(path, signal, memory);
}

/** The hash of a folder that another process may put in place or take away meanwhile; undefined where there is none. */
async function steadyHash(
  path: string,
  signal: AbortSignal | undefined,
  memory?: DigestMemory,
): Promise<PackageHash | undefined> {
  const compute = async () => hashDirectory(path, { ...(signal && { signal }) });
  for (let attempt = 0; ; attempt += 1) {
    if (!(await exists(path))) return undefined;
    try {
      return memory === undefined ? await compute() : await memory.hash(path, compute);
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A plug-in is a program of its name, or a folder that a language host runs. */
async function requireProgram(
  plugin: PluginServer,
  version: Version,
  folder: string,
): Promise<void> {
  const names = await readdir(folder);
  const program = `pulumi-resource-${plugin.name}`;
  if (names.includes(program)) await chmod(join(folder, program), 0o755);
  else if (!names.includes(`${program}.exe`) && !names.includes("PulumiPlugin.yaml")) {
    throw refused(plugin, version, `its archive has neither ${program} nor PulumiPlugin.yaml`);
  }
}

/**
 * Another process may do the same at the same time: who comes later finds an equal plug-in there, and leaves it, since it may be in
 * use. What is left of an installation that was given up makes way.
 */
async function putInPlace(
  from: string,
  to: string,
  content: PackageHash,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const found = await steadyHash(to, signal);
    try {
      if (found !== content) {
        if (found !== undefined) await rename(to, `${from}.old-${attempt}`);
        await rename(from, to);
      }
      await rm(`${to}.partial`, { force: true });
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const isTaken = code === "ENOTEMPTY" || code === "EEXIST" || code === "ENOENT";
      if (!isTaken || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

function refused(
  { address }: PluginServer,
  version: Version,
  why: string,
  cause?: unknown,
): EngineError {
  return new EngineError(
    "ENGINE_PROVIDER_UNAVAILABLE",
    `the plug-in ${address.toString()} ${version.toString()} cannot be installed: ${why}`,
    { cause },
  );
}
