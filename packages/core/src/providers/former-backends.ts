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
  type OpenBackendOptions,
  openBackend,
  placeDigest,
  type StateBackend,
} from "@stackwright/tfstate/backend";

/** The ones that the provider reads by itself. */
const OWN_READERS = new Set(["local", "http"]);

/**
 * The backends of the reference command, for `terraform_remote_state`: all that an adoption reads, with the same arguments, and the same
 * variables of the environment behind them.
 */
export function formerBackends(options: OpenBackendOptions): readonly RemoteStateBackend[] {
  const { directory, env } = options;
  const http = httpStateBackend({ environment: env });
  const others = Object.entries(BACKEND_ARGUMENT_NAMES)
    .filter(([type]) => !OWN_READERS.has(type))
    .map(([type, names]) => formerBackend(type, names, options));
  const httpDigest: RemoteStateBackend["placeDigest"] = async (settings, workspace) => {
    await using backend = await opened("http", settings, options);
    return placeDigest(backend, workspace);
  };
  return [
    localStateBackend({ workingDirectory: directory }),
    { ...http, placeDigest: httpDigest },
    ...others,
  ];
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
    read: async (settings, workspace, { signal }) => {
      await using backend = await opened(type, settings, options);
      return await backend.read(workspace, { signal });
    },
  };
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
