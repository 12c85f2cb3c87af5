import { StackDirectory, type StoredKeys } from "@stackwright/core";
import { StackKeys } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import type { KeyMode } from "../../domain/key-mode.ts";
import { decodeRecord, recordKind } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";

const KIND = recordKind("StackKeys", StackKeys);
const MAX_NAMED = 10;

/**
 * `conflict` where stacks of a project have data keys that another key encrypts than the mode says: those who have both keys encrypt them
 * again first, so that no secret becomes unreadable by a setting.
 */
export async function requireKeysFor(
  mode: KeyMode,
  { account, project }: { readonly account: string; readonly project: string },
  { storage, keys }: { readonly storage: StorageBackend; readonly keys: StoredKeys },
): Promise<void> {
  if (mode === "either") return;
  const tenancy = projectTenancy({ account, project });
  const own = new Set(keys.keyIds);
  const others = new Set<string>();
  for (const resource of await storage.list("strong", KIND.type, tenancy, "")) {
    const { keys: stored } = decodeRecord(KIND, resource);
    const fits = stored.every(({ wrappedBy }) => own.has(wrappedBy) === (mode === "server"));
    if (!fits) others.add(resource.id.name);
  }
  if (others.size === 0) return;
  const stacks = await new StackDirectory({ storage }).list({ account, project });
  const names = stacks.flatMap(({ name, reference }) =>
    others.has(reference.stack) ? [name] : [],
  );
  if (names.length === 0) return;
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  const which = `${names.slice(0, MAX_NAMED).join(", ")}${more}`;
  const why =
    mode === "client"
      ? `a key of the server encrypts the data keys of the stacks ${which}. Encrypt them again with yours first, where both are`
      : `a key that the server does not have encrypts the data keys of the stacks ${which}. Encrypt them again with the key of the server first, where both are`;
  const former = mode === "client" ? "KEY-OF-THE-SERVER" : "YOUR-KEY";
  throw new ServerError(
    "conflict",
    `${why}, for each stack: stackwright keys rewrap --project ${project} --stack NAME --from-key-file ${former}`,
  );
}
