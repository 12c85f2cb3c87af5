import { randomUUID } from "node:crypto";
import type {
  LifecycleContext,
  LifecycleProvider,
  ProviderDiagnostic,
  SchemaReply,
} from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import { BUILTIN_SCHEMA } from "./declarations.ts";
import { callBuiltin, type TfvarsReader } from "./functions.ts";
import { httpStateBackend } from "./http-state.ts";
import { localStateBackend } from "./local-state.ts";
import { type RemoteStateOptions, readRemoteState, validateRemoteState } from "./remote-state.ts";
import type { RemoteStateBackend } from "./remote-state-backend.ts";
import {
  applyData,
  importData,
  moveData,
  planData,
  upgradeData,
  validateData,
} from "./terraform-data.ts";

/** Source address under which templates and states know the built-in provider. */
export const BUILTIN_ADDRESS = "terraform.io/builtin/terraform";

export interface BuiltinProviderOptions {
  /** Reads `.tfvars` syntax, for `decode_tfvars`. */
  readonly readTfvars: TfvarsReader;
  /** Where `terraform_remote_state` finds states. @default `local` and `http` */
  readonly backends?: readonly RemoteStateBackend[];
  /** Ids of new `terraform_data` objects. @default random UUIDs */
  readonly randomId?: () => string;
  /** Report sensitive outputs of other states as such, which Terraform does not. @default false */
  readonly keepSensitiveOutputs?: boolean;
}

/**
 * The provider that every template has: resource `terraform_data`, data source `terraform_remote_state`, and the
 * functions `encode_tfvars`, `decode_tfvars` and `encode_expr`. It runs in process and keeps nothing; calls need no
 * `configure` before them. Calls after `close`, and calls for types that it does not have, are rejected.
 *
 * Source: the built-in provider of Terraform 1.11.
 */
export function createBuiltinProvider(options: BuiltinProviderOptions): LifecycleProvider {
  const { readTfvars, randomId = randomUUID } = options;
  const remoteState: RemoteStateOptions = {
    backends: options.backends ?? [localStateBackend(), httpStateBackend()],
    keepSensitive: options.keepSensitiveOutputs ?? false,
  };
  let closed = false;

  function begin({ signal }: LifecycleContext): void {
    signal?.throwIfAborted();
    if (closed) throw new TfpluginError("TFPLUGIN_CLOSED", "the built-in provider was closed");
  }

  /** A call that is about `type`, which has to be the one there is. */
  async function about<R>(
    type: string,
    expected: string,
    context: LifecycleContext,
    call: () => R | Promise<R>,
  ): Promise<R> {
    begin(context);
    if (type === expected) return call();
    throw new TfpluginError("TFPLUGIN_TYPE_UNKNOWN", `there is no type ${type}`, { subject: type });
  }

  const data = "terraform_data";
  const close = async (): Promise<void> => {
    closed = true;
    return Promise.resolve();
  };

  return {
    schema: async (context) => {
      begin(context);
      return Promise.resolve(SCHEMA_REPLY);
    },
    validateProvider: async (_request, context) => succeed(() => begin(context)),
    configure: async (_request, context) => succeed(() => begin(context)),
    validateResource: async (request, context) =>
      about(request.type, data, context, () => validateData(request)),
    validateDataSource: async (request, context) =>
      about(request.type, "terraform_remote_state", context, () =>
        validateRemoteState(request, remoteState),
      ),
    validateEphemeral: async ({ type }, context) => none(type, context),
    upgrade: async (request, context) =>
      about(request.type, data, context, () => upgradeData(request)),
    move: async (request, context) =>
      about(request.targetType, data, context, () => moveData(request)),
    read: async ({ type, state, privateBytes, identity }, context) =>
      about(type, data, context, () => ({
        diagnostics: [],
        state,
        privateBytes,
        ...(identity && { identity }),
      })),
    plan: async (request, context) => about(request.type, data, context, () => planData(request)),
    apply: async (request, context) =>
      about(request.type, data, context, () => applyData(request, randomId)),
    import: async (request, context) =>
      about(request.type, data, context, () => importData(request)),
    readDataSource: async (request, context) =>
      about(request.type, "terraform_remote_state", context, async () =>
        readRemoteState(request, remoteState, context),
      ),
    openEphemeral: async ({ type }, context) => none(type, context),
    renewEphemeral: async ({ type }, context) => none(type, context),
    closeEphemeral: async ({ type }, context) => none(type, context),
    callFunction: async (request, context) => {
      begin(context);
      return Promise.resolve(callBuiltin(request, readTfvars));
    },
    stop: async () => Promise.resolve(),
    close,
    [Symbol.asyncDispose]: close,
  };

  async function none(type: string, context: LifecycleContext): Promise<never> {
    return about(type, "", context, () => {
      throw new TfpluginError("TFPLUGIN_TYPE_UNKNOWN", "there are no ephemeral resources");
    });
  }
}

const SCHEMA_REPLY: SchemaReply = {
  diagnostics: [],
  schema: BUILTIN_SCHEMA,
  capabilities: { planDestroy: false, moveState: true, failedCreateIsClean: true },
};

async function succeed(
  check: () => void,
): Promise<{ readonly diagnostics: readonly ProviderDiagnostic[] }> {
  check();
  return Promise.resolve({ diagnostics: [] });
}
