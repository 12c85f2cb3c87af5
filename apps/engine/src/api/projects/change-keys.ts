import { StackDirectory, type StoredKeys } from "@stackwright/core";
import { StackKeys } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import type { KeyMode } from "../../domain/key-mode.ts";
import { decodeRecord, recordKind } from "../../domain/record-kind.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";

const KIND = recordKind("StackKeys", StackKeys);
const MAX_NAMED = 10;

/**
 * `conflict` where stacks of a project have data keys that another key encrypts than the mode says: those who have both keys encrypt them
 * again first, so that no secret becomes unreadable by a setting. So is a mode without keys of the server where that serves states to commands.
 */
export async function requireKeysFor(
  mode: KeyMode,
  { account, project }: { readonly account: string; readonly project: string },
  { storage, keys }: { readonly storage: StorageBackend; readonly keys: StoredKeys },
): Promise<void> {
  if (mode === "either") return;
  const tenancy = projectTenancy({ account, project });
  const namesOf = async (ids: ReadonlySet<string>): Promise<readonly string[]> => {
    if (ids.size === 0) return [];
    const stacks = await new StackDirectory({ storage }).list({ account, project });
    return stacks.flatMap(({ name, reference }) => (ids.has(reference.stack) ? [name] : []));
  };
  if (mode === "client") {
    const states = await storage.list("strong", SERVER_KINDS.keptState.type, tenancy, "");
    const served = await namesOf(new Set(states.map(({ id }) => id.name)));
    if (served.length > 0) {
      throw new ServerError(
        "conflict",
        `the server reads and writes the states of the stacks ${listed(served)} for terraform and tofu. Adopt these states, or take them elsewhere, first`,
      );
    }
  }
  const own = new Set(keys.keyIds);
  const others = new Set<string>();
  for (const resource of await storage.list("strong", KIND.type, tenancy, "")) {
    const { keys: stored } = decodeRecord(KIND, resource);
    const fits = stored.every(({ wrappedBy }) => own.has(wrappedBy) === (mode === "server"));
    if (!fits) others.add(resource.id.name);
  }
  const names = await namesOf(others);
  if (names.length === 0) return;
  const which = listed(names);
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

function listed(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}
