import { type EncryptedState, parseEncryptedState } from "../encryption/encrypted-state.ts";
import { type EncryptionSettings, encryptionMethods } from "../encryption/encryption-method.ts";
import { StateCipher } from "../encryption/state-cipher.ts";
import { TfstateError } from "../errors.ts";
import type { BackendCall, StateBackend } from "./state-backend.ts";

/** A member of the marker of an adopted state: what comes back in its place must be encrypted, as the state was. */
const WAS_ENCRYPTED = "adopted_encrypted";

/**
 * A backend whose states OpenTofu encrypts: they are decrypted when they are read, and encrypted when they are written. A state
 * that is not encrypted is read only where there is no method, or `unencrypted` is one: what somebody put in the place of an encrypted one is
 * no state of its owner. An encrypted state is never replaced by one in the clear, unless the method of states
 * is `unencrypted`.
 *
 * @param settings how states are encrypted; read when it is needed. Without a method nothing is
 */
export function encryptedBackend(
  backend: StateBackend,
  settings: () => EncryptionSettings,
): StateBackend {
  let made: StateCipher | undefined;
  const cipher = (): StateCipher => {
    made ??= new StateCipher(encryptionMethods(settings()));
    return made;
  };
  const readAsStored = async (
    workspace: string,
    call?: BackendCall,
  ): Promise<StoredState | undefined> => {
    const bytes = await backend.read(workspace, call);
    return bytes === undefined ? undefined : { bytes, encrypted: parseEncryptedState(bytes) };
  };
  const { retire, unlock, lockHolder, identity } = backend;
  return {
    type: backend.type,
    place: (workspace) => backend.place(workspace),
    ...(identity !== undefined && { identity: (workspace: string) => identity(workspace) }),
    workspaces: async (call) => backend.workspaces(call),
    read: async (workspace, call) => {
      const found = await readAsStored(workspace, call);
      return found && readable(found, cipher, () => backend.place(workspace));
    },
    write: async (workspace, bytes, call) => {
      const state = cipher();
      if (state.isConfigured) {
        await backend.write(workspace, await state.encrypt(bytes, headOf(bytes)), call);
        return;
      }
      const found = await readAsStored(workspace, call);
      if (found !== undefined && (found.encrypted !== undefined || wasEncrypted(found.bytes))) {
        throw new TfstateError(
          "TFSTATE_ENCRYPTION_INVALID",
          `${backend.place(workspace)} is encrypted, and there is no method to encrypt with: set TF_ENCRYPTION or the block "encryption" as it was`,
        );
      }
      await backend.write(workspace, bytes, call);
    },
    lock: async (workspace, record, call) => backend.lock(workspace, record, call),
    ...(retire !== undefined && {
      retire: async (workspace: string, suffix: string, marker: Uint8Array) => {
        const found = await readAsStored(workspace);
        const left = found?.encrypted === undefined ? marker : withMember(marker);
        return retire(workspace, suffix, left);
      },
    }),
    ...(lockHolder !== undefined && {
      lockHolder: async (workspace: string, call?: BackendCall) => lockHolder(workspace, call),
    }),
    ...(unlock !== undefined && {
      unlock: async (workspace: string, id: string, call?: BackendCall) =>
        unlock(workspace, id, call),
    }),
    [Symbol.asyncDispose]: async () => backend[Symbol.asyncDispose](),
  };
}

/**
 * The text of a state that was read from somewhere, as {@link encryptedBackend} reads it.
 *
 * @param place what the state is called in errors
 */
export async function decryptState(
  bytes: Uint8Array,
  settings: () => EncryptionSettings,
  place: string,
): Promise<Uint8Array> {
  const stored = { bytes, encrypted: parseEncryptedState(bytes) };
  return readable(
    stored,
    () => new StateCipher(encryptionMethods(settings())),
    () => place,
  );
}

interface StoredState {
  readonly bytes: Uint8Array;
  readonly encrypted: EncryptedState | undefined;
}

async function readable(
  { bytes, encrypted }: StoredState,
  cipher: () => StateCipher,
  place: () => string,
): Promise<Uint8Array> {
  if (encrypted !== undefined) return cipher().decrypt(encrypted);
  if (cipher().allowsPlain || isMarker(bytes)) return bytes;
  throw new TfstateError(
    "TFSTATE_STATE_NOT_ENCRYPTED",
    `${place()} is not encrypted, and the encryption of states has no method "unencrypted". While states are moved to encryption, name one as its "fallback"; otherwise the state may have been replaced`,
  );
}

function headOf(bytes: Uint8Array): Pick<EncryptedState, "serial" | "lineage"> {
  const { serial, lineage } = JSON.parse(Buffer.from(bytes).toString("utf8")) as {
    readonly serial: number;
    readonly lineage: string;
  };
  return { serial, lineage };
}

function withMember(marker: Uint8Array): Uint8Array {
  const file = JSON.parse(Buffer.from(marker).toString("utf8")) as object;
  return Buffer.from(`${JSON.stringify({ ...file, [WAS_ENCRYPTED]: true }, undefined, 2)}\n`);
}

function wasEncrypted(bytes: Uint8Array): boolean {
  return Object.hasOwn(membersOf(bytes), WAS_ENCRYPTED);
}

/** What an adoption left in the place of a state has a version that no state has. */
function isMarker(bytes: Uint8Array): boolean {
  const { version } = membersOf(bytes);
  return typeof version === "number" && version > 4;
}

function membersOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const file: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return typeof file === "object" && file !== null ? (file as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
