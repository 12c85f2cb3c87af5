import { open } from "node:fs/promises";
import { type DamagedResource, idOfKey } from "../damaged-resource.ts";
import { isStorageError, StorageError } from "../errors.ts";
import { resourceKey } from "../key.ts";
import type { CallOptions, StorageBackend } from "../types.ts";
import { LineReader, LineWriter } from "./line-file.ts";
import { MAX_LINE, shownResource } from "./resource-line.ts";

// A damaged resource is dropped in two steps. First an empty one takes its place, under its uid and with a group version
// that nothing else has: no engine needs the damaged content for that, and the event of it is whole. Then that one is
// deleted, and watches get its delete event like any other. A deletion alone would have them delivered what cannot be
// read. What is left between the steps counts as damaged, so that it is dropped by the next attempt.

const DROPPED = "damaged";

/** A damaged resource as an export names it. */
export type ExportedDamage = Omit<DamagedResource, "body">;

/** The damaged resources of a store at one point in time, while others use it. Needs `capabilities.snapshot`. */
export async function* damagedResources(
  storage: StorageBackend,
  { signal }: CallOptions = {},
): AsyncGenerator<DamagedResource, undefined> {
  const found: DamagedResource[] = [];
  const onDamaged = (damaged: DamagedResource): void => void found.push(damaged);
  await using snapshot = await storage.snapshot({ signal, onDamaged });
  for await (const { id, version, data } of snapshot) {
    signal?.throwIfAborted();
    if (id.type.groupVersion === DROPPED && data === undefined) {
      found.push({ id, version, reason: "it was being dropped", body: new Uint8Array() });
    }
    yield* found.splice(0);
  }
  yield* found;
}

/**
 * Writes the damaged resources of a store into a new file, one line of JSON for each: `name` (group, kind, partition,
 * peer name, namespace, name), `uid`, `version`, `reason`, and in base64 what is stored as `body`. The file is synced.
 */
export async function exportDamaged(
  storage: StorageBackend,
  path: string,
  options: CallOptions = {},
): Promise<number> {
  await using lines = new LineWriter(await open(path, "wx", 0o600));
  for await (const { id, version, reason, body } of damagedResources(storage, options)) {
    const name = resourceKey(id).split("\0");
    const text = Buffer.from(body).toString("base64");
    await lines.write(JSON.stringify({ name, uid: id.uid, version, reason, body: text }));
  }
  return (await lines.finish()).count;
}

/** What the lines of {@link exportDamaged} name; `STORAGE_CORRUPT` for a line that is none. */
export async function* exportedDamage(path: string): AsyncGenerator<ExportedDamage, undefined> {
  for await (const { number, text } of new LineReader(path, MAX_LINE).lines()) {
    const exported = text === undefined ? undefined : parseLine(text);
    if (exported !== undefined) yield exported;
    else {
      const message = `${path} is not an export of damaged resources (line ${number})`;
      throw new StorageError("STORAGE_CORRUPT", message);
    }
  }
}

/**
 * Deletes a damaged resource from a store, at exactly this version. False when that is not stored any more: it was
 * written or deleted since.
 */
export async function dropDamaged(
  storage: StorageBackend,
  { id, version, reason }: ExportedDamage,
  options: CallOptions = {},
): Promise<boolean> {
  const type = { ...id.type, groupVersion: DROPPED };
  const empty = { generation: "", metadata: { [DROPPED]: reason }, status: {} };
  try {
    const replaced = await storage.writeCAS({ id: { ...id, type }, version, ...empty }, options);
    await storage.deleteCAS(replaced.id, replaced.version, options);
    return true;
  } catch (error) {
    if (isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) return false;
    throw error;
  }
}

/** A damaged resource in a report. */
export function shownDamage({ id, version, reason }: ExportedDamage): string {
  return `${shownResource({ id })} at version ${version}: ${reason}`;
}

function parseLine(text: string): ExportedDamage | undefined {
  let line: Partial<Record<string, unknown>>;
  try {
    line = (JSON.parse(text) ?? {}) as typeof line;
  } catch {
    return undefined;
  }
  const { name, uid, version, reason } = line;
  if (!Array.isArray(name) || name.length !== 6) return undefined;
  if (typeof uid !== "string" || typeof version !== "string" || typeof reason !== "string") {
    return undefined;
  }
  return { id: idOfKey(name.map(String), uid), version, reason };
}
