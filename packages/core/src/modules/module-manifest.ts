import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../errors.ts";

/** One call of the configuration and the folder of its module. */
export interface ModuleRecord {
  /** Names of the calls from the root module, joined by dots; empty for the root module. */
  readonly key: string;
  /** The normalised source; empty for the root module. */
  readonly source: string;
  /** Of modules of a registry. */
  readonly version?: string;
  /** Relative to the folder of the root module, or absolute. */
  readonly dir: string;
}

const FILE = "modules.json";

/**
 * Reads which modules are installed in a folder, in the form in which the reference command keeps it. A file that is not there
 * means none. `ENGINE_CONFIG_INVALID` where it is damaged.
 */
export async function readModuleManifest(
  folder: string,
): Promise<ReadonlyMap<string, ModuleRecord>> {
  const path = join(folder, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  try {
    const { Modules: modules } = JSON.parse(text) as { readonly Modules: unknown };
    if (!Array.isArray(modules)) throw new TypeError("Modules is not an array");
    return new Map(modules.map(recordOf).map((record) => [record.key, record]));
  } catch (cause) {
    throw new EngineError("ENGINE_CONFIG_INVALID", `${path} is damaged; remove it`, { cause });
  }
}

function recordOf(entry: unknown): ModuleRecord {
  const { Key, Source, Version, Dir } = entry as Readonly<Record<string, unknown>>;
  if (typeof Key !== "string" || typeof Source !== "string" || typeof Dir !== "string") {
    throw new TypeError("an entry has no key, source or folder");
  }
  const record = { key: Key, source: Source, dir: Dir };
  return typeof Version === "string" && Version !== "" ? { ...record, version: Version } : record;
}

/** Writes the file at once: another process reads the one before or this one. */
export async function writeModuleManifest(
  folder: string,
  records: Iterable<ModuleRecord>,
): Promise<void> {
  const Modules = [...records]
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key, source, version, dir }) => ({
      Key: key,
      Source: source,
      ...(version !== undefined && { Version: version }),
      Dir: dir,
    }));
  await replaceFile(join(folder, FILE), JSON.stringify({ Modules }));
}

/** Writes a temporary file in the same directory and renames it. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  const fresh = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(fresh, text);
  await rename(fresh, path);
}
