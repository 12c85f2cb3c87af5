import type { StackReference, StoredKeys } from "@stackwright/core";
import { type CallOptions, readStored, type StorageBackend } from "@stackwright/storage";
import { requireServerKeys } from "../domain/key-mode.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";

/** Ids of stacks are ULIDs; what else has data keys has a name. */
const STACK_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * The keys of a server, which encrypts nothing for a stack whose project keeps its keys from it (`client_keys`), whether there are keys or not: they
 * may be made in the moment in which the project is changed. What is stored can be opened. What the server has for a project itself, such as the
 * tokens of its repositories, is no secret of a stack.
 */
export function keptKeys(keys: StoredKeys, storage: StorageBackend): StoredKeys {
  return {
    ...bound(keys),
    keyIds: keys.keyIds,
    ensure: async (reference, options) => {
      if (STACK_ID.test(reference.stack)) await requireKeysOfServer(storage, reference, options);
      return keys.ensure(reference, options);
    },
  };
}

/** `client_keys` where a project keeps the keys of its stacks from the server. */
export async function requireKeysOfServer(
  storage: StorageBackend,
  { account, project }: Pick<StackReference, "account" | "project">,
  options?: CallOptions,
): Promise<void> {
  const id = idOf(SERVER_KINDS.project, projectPlace({ account, project }));
  const stored = await readStored(storage, "strong", id, options);
  requireServerKeys(stored ? decodeRecord(SERVER_KINDS.project, stored) : defaultProject(project));
}

function bound(keys: StoredKeys): Omit<StoredKeys, "keyIds" | "ensure"> {
  return {
    load: async (...given) => keys.load(...given),
    list: async (...given) => keys.list(...given),
    rotate: async (...given) => keys.rotate(...given),
    rewrap: async (...given) => keys.rewrap(...given),
    withFirst: (...given) => keys.withFirst(...given),
    dataKeys: async (...given) => keys.dataKeys(...given),
  };
}
