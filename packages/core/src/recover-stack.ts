import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Value } from "@stackwright/cty";
import type { Diagnostic } from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import {
  type RecoveredOperation,
  type Resolution,
  recoverPendingOperations,
  settleUnresolved,
} from "./apply/recover.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { EphemeralResources } from "./ephemeral/ephemeral-resources.ts";
import { hasEphemerals } from "./ephemeral/ephemeral-users.ts";
import type { RunEventHandler } from "./events.ts";
import { upgradeObject } from "./planner/read-object.ts";
import type { ProviderCatalog } from "./providers/catalog.ts";
import { chooseProvider } from "./providers/choose-provider.ts";
import { configureProvider, configureUndeclared } from "./providers/configure-provider.ts";
import { aliasOf } from "./providers/provider-alias.ts";
import { ProviderInstances } from "./providers/provider-instances.ts";
import type { ReadyProvider } from "./providers/ready-provider.ts";
import { selectVersions } from "./providers/select-versions.ts";
import type { Redactor } from "./secrets/redactor.ts";
import type { StackHead, StackLock } from "./state/stack-state.ts";
import type { StateObject } from "./state/state-object.ts";
import { EvaluationState } from "./walk/evaluation-state.ts";
import { loadStateIntoContext } from "./walk/load-state.ts";

export interface RecoverRequest {
  readonly configuration: Configuration;
  readonly variables: ReadonlyMap<string, Value>;
  readonly hold: StackLock;
  /** The run that was interrupted, as the head of the stack names it; a new one where there is none. */
  readonly run: string;
  /** How unresolved objects are resolved. @default they stay as they are */
  readonly resolve?: (object: StateObject) => Resolution | undefined;
  readonly catalog: ProviderCatalog;
  readonly workspace?: string;
  /** Learns the secrets of the run. @default none */
  readonly secrets?: Redactor;
  /** @default that of the process */
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly onEvent?: RunEventHandler;
}

export interface RecoverResult {
  readonly operations: readonly RecoveredOperation[];
  readonly diagnostics: readonly Diagnostic[];
  readonly head: StackHead;
}

/**
 * Ends a run that was interrupted: recovers its operations and closes the head. Providers are configured over the
 * recorded values, as nothing else is known.
 */
export async function recoverStack(request: RecoverRequest): Promise<RecoverResult> {
  const { configuration, hold, catalog, signal } = request;
  const onEvent = request.onEvent ?? (() => undefined);
  onEvent({ type: "phase", phase: "recover" });
  const writer = await hold.begin({ run: request.run });
  const diagnostics: Diagnostic[] = [];
  await using providers = new ProviderInstances({
    catalog,
    sessionId: request.run,
    secrets: request.secrets,
    ...(signal && { signal }),
  });
  const versions = await selectVersions(configuration.resolution, writer, catalog, diagnostics);
  const world = new EvaluationState({
    root: configuration.root,
    variables: request.variables,
    workspace: request.workspace ?? "default",
    host: { maxStringLength: 32 * 1024 * 1024 },
    applying: true,
    missing: "lenient",
    expandsCalls: true,
  });
  const referenceOf = ({ provider }: StateObject) => ({
    ...provider,
    version: versions.get(provider.source) ?? provider.version,
  });
  const values: (readonly [string, Value])[] = [];
  for (const object of writer.objects.values()) {
    if (object.deposed !== "" || object.value === undefined) continue;
    try {
      const use = await providers.get(referenceOf(object));
      const value = await upgradeObject(object, { use, report: () => undefined });
      if (value !== undefined) values.push([object.address, value]);
    } catch {
      // Said again, with its consequence, for each operation of that provider.
    }
  }
  loadStateIntoContext(world, values);
  const report = (found: readonly Diagnostic[]): void => void diagnostics.push(...found);
  await using ephemerals = new EphemeralResources({
    world,
    clock: request.clock ?? systemClock,
    onEvent,
    context: { sessionId: request.run, ...(signal && { signal }) },
    call: async (work) => work(),
    providerOf: async (slot) => {
      const { resolved } =
        (await chooseProvider(configuration.resolution, world, slot, report)) ?? {};
      if (resolved === undefined) return undefined;
      const source = resolved.source.toString();
      const alias = aliasOf(resolved);
      return configured({ source, version: versions.get(source) ?? "", alias });
    },
    report: (found) => void diagnostics.push(...found),
    keep: () => undefined,
    isPending: () => false,
  });
  if (hasEphemerals(configuration)) world.opener = ephemerals;
  const ready = new Map<string, Promise<ReadyProvider | undefined>>();
  const configured = async (reference: ProviderReference): Promise<ReadyProvider | undefined> => {
    const key = `${reference.source} ${reference.alias}`;
    let known = ready.get(key);
    if (known === undefined) {
      const resolved = [...configuration.resolution.configurations.values()].find(
        (one) => one.source.toString() === reference.source && aliasOf(one) === reference.alias,
      );
      known =
        resolved === undefined
          ? configureUndeclared({ reference, providers, report })
          : configureProvider({
              resolved,
              reference,
              providers,
              world,
              report,
              onEvent,
              known: false,
            });
      ready.set(key, known);
    }
    return known;
  };
  const providerOf = async (object: StateObject): Promise<ReadyProvider | undefined> => {
    const provider = await configured(referenceOf(object));
    return provider?.reachable === true ? provider : undefined;
  };
  const context = { sessionId: request.run, ...(signal && { signal }) };
  const { resolve } = request;
  const operations = [
    ...(await recoverPendingOperations(writer, providerOf, context)),
    ...(resolve === undefined ? [] : await settleUnresolved(writer, resolve, providerOf, context)),
  ];
  await ephemerals.closeAll();
  const head = await writer.finish({ outputs: writer.outputs });
  for (const { address, problem } of operations) {
    if (problem === undefined) continue;
    diagnostics.push({
      severity: "warning",
      code: "ENGINE_UNRESOLVED",
      summary: "Outcome of an interrupted operation is not known",
      detail: problem,
      address,
    });
  }
  return { operations, diagnostics, head };
}
