import type { NamedStack } from "@stackwright/core";
import type { StateVersion } from "@stackwright/proto/stackwright";
import type {
  AnnouncedState,
  StateKey,
  StatePort,
  TfeCaller,
  TfeStateVersion,
} from "@stackwright/tfe";
import type { Logger } from "pino";
import type { AccountPlaces } from "../api/account-places.ts";
import { stackPlace } from "../domain/run-places.ts";
import { isServerError, ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { isOver } from "../queue/stack-lock.ts";
import { requireKeptState } from "../queue/state-owner.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import {
  type ServedParts,
  type ServedState,
  servedVersion,
  serveState,
} from "../terraform-state/served-state.ts";
import { MAX_STATE_BYTES, storeStateContent } from "../terraform-state/state-content.ts";
import {
  addStateVersion,
  findCurrentVersion,
  listStateVersions,
  requireFollowing,
} from "../terraform-state/state-versions.ts";
import { timedUpload } from "../timed-upload.ts";
import { type AuditedChange, targetOf } from "./audited-change.ts";
import { isWorkspaceLock } from "./workspace-lock.ts";

interface StateParts extends TransactionParts, ServedParts {
  readonly logger: Logger;
  readonly stateUploads: AccountPlaces;
  /** `not_found` for the id of a workspace that the caller does not see. */
  readonly stackOf: (caller: TfeCaller, workspace: string) => Promise<NamedStack>;
  readonly audited: AuditedChange;
}

/** Bytes of a form that describes a state: it is larger than the state itself. */
const MAX_JSON_BYTES = 768 * 1024 ** 2;

/** The states of workspaces: the versions and the lock that the `http` backend has, too. */
export function workspaceStates(parts: StateParts): StatePort {
  const { storage, clock, logger, stackOf, stateUploads, audited } = parts;

  /** The state that a key names, as the commands stored it or as the engine has it now. */
  const served = async (stack: NamedStack, key: StateKey): Promise<ServedState | undefined> => {
    const isIt = ({ serial, md5 }: StateKey): boolean => serial === key.serial && md5 === key.md5;
    const current = await serveState(parts, stack);
    if (current !== undefined && isIt(current)) return current;
    const versions = await listStateVersions(storage, stack.reference);
    const version = versions.find(isIt);
    return version && servedVersion(parts, stack.reference, version);
  };

  /**
   * Checks that the caller has the lock, and that the state follows the present one. A stack that the engine runs takes no state: the
   * lock ends with that answer, as its command can store nothing and leaves it in place.
   */
  const announce = async (
    caller: TfeCaller,
    { workspace, force, ...key }: AnnouncedState,
  ): Promise<string> => {
    const stack = await stackOf(caller, workspace);
    const outcome = await transact(parts, async (tx) => {
      const held = await tx.find(SERVER_KINDS.lock, stackPlace(stack.reference));
      const lock = held === undefined || isOver(held.message, tx.nowMs) ? undefined : held.message;
      const id = lock?.terraform?.id;
      const isOwn = lock?.actor === caller.actor && isWorkspaceLock(lock);
      if (id === undefined || !isOwn) {
        throw new ServerError("conflict", "workspace is not locked by you");
      }
      try {
        await requireKeptState(tx, { stack: stack.reference, name: stack.name });
      } catch (error) {
        if (!isServerError(error, "engine_state") || held === undefined) throw error;
        tx.remove(held);
        return { refusal: error };
      }
      return { id };
    });
    if (outcome.refusal !== undefined) throw outcome.refusal;
    const current = await findCurrentVersion(storage, stack.reference);
    if (current !== undefined && !force) requireFollowing(current, key);
    return outcome.id;
  };

  return {
    current: async (caller, workspace) => {
      const found = await serveState(parts, await stackOf(caller, workspace));
      return found && viewOf(found);
    },
    find: async (caller, workspace, key) => {
      const found = await served(await stackOf(caller, workspace), key);
      return found && viewOf(found);
    },
    list: async (caller, workspace) => {
      const stack = await stackOf(caller, workspace);
      const versions = await listStateVersions(storage, stack.reference);
      if (versions.length > 0) return versions.map(versionView);
      const current = await serveState(parts, stack);
      return current === undefined ? [] : [viewOf(current)];
    },
    read: async (caller, workspace, key) => served(await stackOf(caller, workspace), key),
    announce,
    store: async (caller, { workspace, lock, force, ...key }, given, signal) => {
      const stack = await stackOf(caller, workspace);
      using _place = stateUploads.take(caller.account);
      const bounds = { clock, signal, maxBytes: MAX_STATE_BYTES, what: "a state" };
      const content = await storeStateContent(parts, {
        stack: stack.reference,
        content: timedUpload(given, bounds),
        signal,
      });
      if (content.md5 !== key.md5 || content.serial !== key.serial) {
        throw new ServerError(
          "conflict",
          "the bytes are not those of the state that was announced: its MD5 or its serial differs",
        );
      }
      const { actor } = caller;
      const noted = audited(caller, "StoreState", targetOf(stack));
      const version = await addStateVersion(noted, { stack, actor, content, lockId: lock, force });
      if (version.lineageChanged || force) {
        const { number, lineage, lineageChanged } = version;
        logger.warn(
          { stack: stack.name, number: Number(number), actor, lineage, lineageChanged, force },
          "a state was stored that does not follow the former one",
        );
      }
    },
    skip: async ({ account }, given, signal) => {
      using _place = stateUploads.take(account);
      const bounds = { clock, signal, maxBytes: MAX_JSON_BYTES, what: "a description of a state" };
      // Read to its end, so that its command gets an answer.
      for await (const _chunk of timedUpload(given, bounds));
    },
  };
}

function viewOf(state: ServedState): TfeStateVersion {
  const { serial, md5, lineage, terraformVersion, bytes, createdAtMs } = state;
  return { serial, md5, lineage, terraformVersion, bytes, createdAtMs };
}

function versionView(version: StateVersion): TfeStateVersion {
  const { serial, md5, lineage, terraformVersion } = version;
  const bytes = Number(version.bytes);
  return {
    serial,
    md5,
    lineage,
    terraformVersion,
    bytes,
    createdAtMs: Number(version.createdAtMs),
  };
}
