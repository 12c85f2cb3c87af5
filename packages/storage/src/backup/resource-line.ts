import { crc32 } from "node:zlib";
import { decodeResource, encodeResource } from "../codec.ts";
import { StorageError } from "../errors.ts";
import { resourceKey } from "../key.ts";
import type { Resource } from "../resource.ts";

/** Characters of the longest line: the largest resource of any engine in base64, and its name. */
export const MAX_LINE = 16 * 1024 * 1024;

// {"name": [group, kind, partition, peer name, namespace, name], "version", "crc32", "body"}: the name is for
// reports about a line whose body is damaged; the body holds it as well.

/** The line of a resource, without its end. Encrypted values stay as they are. */
export function formatResourceLine(resource: Resource): string {
  const { id, version } = resource;
  const body = Buffer.from(encodeResource(resource)).toString("base64");
  const name = resourceKey(id).split("\0");
  return JSON.stringify({ name, version, crc32: checksumOf(name, version, body), body });
}

/** The resource of a line; `STORAGE_CORRUPT` with what can be said about it when it is damaged. */
export function parseResourceLine(text: string): Resource {
  let parsed: Partial<Record<string, unknown>>;
  try {
    parsed = (JSON.parse(text) ?? {}) as typeof parsed;
  } catch {
    throw new StorageError("STORAGE_CORRUPT", "a resource whose line cannot be read");
  }
  const { name, version, body, crc32: checksum } = parsed;
  const shown = Array.isArray(name) ? shownName(name.map(String)) : "a resource without a name";
  const damaged = new StorageError("STORAGE_CORRUPT", `${shown}: the checksum does not match`);
  if (!Array.isArray(name) || typeof version !== "string" || typeof body !== "string") {
    throw damaged;
  }
  const names = name.map(String);
  if (checksumOf(names, version, body) !== checksum) throw damaged;
  const resource = decodeResource(Buffer.from(body, "base64"), version);
  if (resourceKey(resource.id) !== names.join("\0")) throw damaged;
  return resource;
}

/** A resource in a report. */
export function shownResource(resource: Pick<Resource, "id">): string {
  return shownName(resourceKey(resource.id).split("\0"));
}

function shownName([group = "", kind = "", ...place]: readonly string[]): string {
  return `${group} ${kind} ${place.map((part) => JSON.stringify(part)).join("/")}`;
}

function checksumOf(name: readonly string[], version: string, body: string): number {
  return crc32(body, crc32(`${name.join("\0")}\0${version}\0`));
}
