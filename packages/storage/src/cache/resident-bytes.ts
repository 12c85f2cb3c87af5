import type { Resource } from "../resource.ts";

/** What the objects of a resource and its place in the map take beside its texts and bytes, roughly. */
const OBJECT_BYTES = 768;

/** What an id alone takes, roughly: all that is kept of a resource that stays in the engine. */
export const LARGE_ID_BYTES = 512;

/** Roughly what a resource takes in memory. */
export function residentBytes({ id, owner, metadata, status, data }: Resource): number {
  let bytes = OBJECT_BYTES + 2 * id.name.length + (data?.value.byteLength ?? 0);
  if (owner !== undefined) bytes += OBJECT_BYTES / 2 + owner.name.length;
  for (const [key, value] of Object.entries(metadata)) bytes += 64 + key.length + value.length;
  for (const [key, { conditions }] of Object.entries(status)) {
    bytes += 256 + key.length;
    for (const { reason, message } of conditions) bytes += 256 + reason.length + message.length;
  }
  return bytes;
}
