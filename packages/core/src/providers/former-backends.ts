import { encodeJson, Type, type Value } from "@stackwright/cty";
import {
  httpStateBackend,
  localStateBackend,
  type RemoteStateBackend,
  type RemoteStateBackendSettings,
} from "@stackwright/tfplugin/builtin";
import {
  type ArgumentValue,
  BACKEND_ARGUMENT_NAMES,
  CALL_DEADLINE_MS,
  decryptState,
  describeLock,
  type EncryptionSettings,
  lockOperationOf,
  type OpenBackendOptions,
  openBackend,
  placeDigest,
  type StateBackend,
  withDeadline,
} from "@stackwright/tfstate/backend";
import { confinedStateFiles } from "./confined-state-files.ts";

/** The ones that the provider reads by itself. */
const OWN_READERS = new Set(["local", "http"]);

const NOT_ENCRYPTED: EncryptionSettings = Object.freeze({
  keyProviders: new Map(),
  methods: new Map(),
  state: [],
});

/** What one reading may take where somebody else than the user of this process asks. */
const ISOLATED_BYTES = 64 * 1024 * 1024;
/** What all readings of one run may take together then. */
const ISOLATED_RUN_BYTES = 256 * 1024 * 1024;
const ISOLATED_MS = 2 * 60_000;

interface FormerBackendsOptions extends OpenBackendOptions {
  /** The folder whose files `local` reads, and the others take credentials from. @default all files */
  readonly filesRoot?: string;
  /** Where files with credentials are besides. @default nowhere */
  readonly credentialsFolder?: string;
  /** Bytes of all states together, where somebody else than the user of this process asks. @default 256 MiB */
  readonly maxRunBytes?: number;
  /**
   * How the state is encrypted that an instance of a data source reads. Rejects where that is configured wrongly.
   *
   * @default no state is encrypted
   */
  readonly encryptionOf?: (address: string) => EncryptionSettings;
}

/**
 * The backends of the reference command, for `terraform_remote_state`: all that an adoption reads, with the same arguments, and the same
 * variables of the environment behind them.
 */
export function formerBackends({
  filesRoot,
  credentialsFolder,
  maxRunBytes = ISOLATED_RUN_BYTES,
  encryptionOf = () => NOT_ENCRYPTED,
  ...given
}: FormerBackendsOptions): readonly RemoteStateBackend[] {
  const { directory, env, isIsolated = false } = given;
  const folders = [filesRoot, credentialsFolder].filter((folder) => folder !== undefined);
  const options = {
    ...(isIsolated && { maxBytes: ISOLATED_BYTES }),
    ...(filesRoot !== undefined && { filesWithin: folders }),
    ...given,
  };
  const { maxBytes } = options;
  const ms = isIsolated ? ISOLATED_MS : CALL_DEADLINE_MS;
  const http = httpStateBackend({
    environment: env,
    followsToOtherHosts: !isIsolated,
    ...(maxBytes !== undefined && { maxBytes }),
  });
  const others = Object.entries(BACKEND_ARGUMENT_NAMES)
    .filter(([type]) => !OWN_READERS.has(type))
    .map(([type, names]) => formerBackend(type, names, options));
  const httpDigest: RemoteStateBackend["placeDigest"] = async (settings, workspace) => {
    await using backend = await opened("http", settings, options);
    return placeDigest(backend, workspace);
  };
  const all: readonly RemoteStateBackend[] = [
    localStateBackend({
      workingDirectory: directory,
      ...(filesRoot !== undefined && {
        readFile: confinedStateFiles({
          directory,
          root: filesRoot,
          maxBytes: maxBytes ?? ISOLATED_BYTES,
        }),
      }),
    }),
    { ...http, placeDigest: httpDigest },
    ...others,
  ];
  let readBytes = 0;
  return all.map((backend) => ({
    ...backend,
    read: async (settings, workspace, { signal, address = "", warn }) => {
      const called = { signal, ms };
      const read = await withDeadline(`the backend "${backend.type}"`, called, async (until) =>
        backend.read(settings, workspace, { signal: until, ...(warn && { warn }) }),
      );
      if (!(read instanceof Uint8Array)) return read;
      if (isIsolated) readBytes += read.byteLength;
      if (readBytes <= maxRunBytes) {
        return decryptState(read, () => encryptionOf(address), `the state that ${address} reads`);
      }
      throw new Error(
        `the run reads more than ${Math.floor(maxRunBytes / 1024 / 1024)} MiB of states elsewhere: read fewer of them, or outputs of stacks in their place`,
      );
    },
  }));
}

function formerBackend(
  type: string,
  names: readonly string[],
  options: OpenBackendOptions,
): RemoteStateBackend {
  return {
    type,
    // Its reader says what is wrong with a value, as it does for an adoption.
    settings: new Map(
      names.map((name) => [
        name.replace("!", ""),
        { type: Type.dynamic, required: name.endsWith("!") },
      ]),
    ),
    check: () => undefined,
    placeDigest: async (settings, workspace) => {
      await using backend = await opened(type, settings, options);
      return placeDigest(backend, workspace);
    },
    read: async (settings, workspace, { signal, warn }) => {
      await using backend = await opened(type, settings, options);
      const bytes = await backend.read(workspace, { signal });
      const warning =
        bytes !== undefined && warn && (await adoptionLock(backend, workspace, signal));
      if (warning) warn(warning);
      return bytes;
    },
  };
}

/**
 * What to say of a state that an adoption has locked: nothing writes it any more, while the stack changes. Who may read the state alone,
 * and not its lock, gets no warning.
 */
async function adoptionLock(
  backend: StateBackend,
  workspace: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  let holder: string | undefined;
  try {
    holder = await backend.lockHolder?.(workspace, { signal });
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
  if (holder === undefined || lockOperationOf(holder) !== "stackwright adopt") return undefined;
  return `${backend.place(workspace)} is locked by an adoption (${describeLock(holder)}): these outputs are those of that time, and the stack that has adopted it is not in this store. Read its outputs from the store that has it.`;
}

async function opened(
  type: string,
  settings: RemoteStateBackendSettings,
  options: OpenBackendOptions,
): Promise<StateBackend> {
  const values = Object.fromEntries(
    [...settings].map(([name, value]) => [name, argumentOf(value)] as const),
  );
  return openBackend({ type, values }, options);
}

function argumentOf(value: Value): ArgumentValue {
  return value.isNull ? null : (JSON.parse(encodeJson(value, value.type)) as ArgumentValue);
}
