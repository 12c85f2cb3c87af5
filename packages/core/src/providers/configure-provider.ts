import { Value } from "@stackwright/cty";
import {
  bindBody,
  type Diagnostic,
  emptyBlock,
  evaluateBody,
  hasErrors,
  type InstanceContext,
  PROVIDER_META,
  providerDiagnostic,
  type ResolvedProvider,
} from "@stackwright/lang";
import type { ProviderDiagnostic, ProviderReference } from "@stackwright/mux/router";
import { formatProviderReference } from "@stackwright/mux/router";
import type { RunEventHandler } from "../events.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import type { ProviderInstance, ProviderInstances } from "./provider-instances.ts";
import type { ReadyProvider } from "./ready-provider.ts";

interface ConfigureProviderOptions {
  readonly resolved: ResolvedProvider;
  readonly reference: ProviderReference;
  readonly providers: ProviderInstances;
  readonly world: EvaluationState;
  readonly report: (diagnostics: readonly Diagnostic[]) => void;
  readonly onEvent: RunEventHandler;
  /** Whether everything is known by now; then an unknown configuration is an error. */
  readonly known: boolean;
  /** Whether a provider gets its configuration only where that is wholly known. @default false: it gets unknown values, too */
  readonly onlyKnown?: boolean;
}

/** Starts a provider and gives it its configuration. Undefined after an error, which is reported. */
export async function configureProvider(
  options: ConfigureProviderOptions,
): Promise<ReadyProvider | undefined> {
  const { resolved, world, report } = options;
  const use = await startProvider(options);
  if (use === undefined) return undefined;
  const block = use.schema.provider;
  if (resolved.config === undefined) {
    return ready(use, emptyBlock(block), options, new Set());
  }
  const bound = bindBody(resolved.config.body, block, { meta: PROVIDER_META });
  report(bound.diagnostics);
  const [module] = world.modules(resolved.module.path);
  if (hasErrors(bound.diagnostics) || module === undefined) return undefined;
  const scope = resolved.config.scope ?? module.scope.forInstance(instanceContext(resolved));
  const evaluate = () => evaluateBody(bound.body, scope, { ephemeral: "everywhere" });
  await world.answered(evaluate);
  const { result, targets, blocked } = world.recorder.record(evaluate);
  report(result.diagnostics);
  // What it is made from is wrong, which is reported there.
  if (blocked.size > 0 || hasErrors(result.diagnostics)) return undefined;
  const place = (problems: readonly ProviderDiagnostic[]) =>
    problems.map((problem) => providerDiagnostic(result, problem, resolved.address));
  use.secrets.addValue(result.value);
  const config = withoutMarks(result.value);
  const { diagnostics } = await use.provider.validateProvider({ config }, {});
  report(place(diagnostics));
  if (hasErrors(place(diagnostics))) return undefined;
  return ready(use, config, options, targets, place);
}

/** Starts a provider. Undefined after an error, which is reported. */
export async function startProvider({
  reference,
  providers,
  report,
  onEvent,
}: Pick<ConfigureProviderOptions, "reference" | "providers" | "report"> &
  Partial<Pick<ConfigureProviderOptions, "onEvent">>): Promise<ProviderInstance | undefined> {
  const provider = formatProviderReference(reference);
  try {
    onEvent?.({ type: "provider", provider, status: "starting" });
    const use = await providers.get(reference);
    onEvent?.({ type: "provider", provider, status: "ready" });
    return use;
  } catch (error) {
    report([
      {
        severity: "error",
        code: "ENGINE_PROVIDER_UNAVAILABLE",
        summary: "Provider not available",
        detail: `${provider} cannot be started: ${error instanceof Error ? error.message : String(error)}`,
        provider: reference.source,
      },
    ]);
    return undefined;
  }
}

/** What the body of an instance of a configuration with `for_each` sees. */
export function instanceContext({ instance }: ResolvedProvider): InstanceContext {
  if (instance === undefined) return {};
  return { each: { key: Value.string(instance.key), value: instance.value } };
}

async function ready(
  use: ProviderInstance,
  config: Value,
  { known, onlyKnown, report }: Pick<ConfigureProviderOptions, "known" | "onlyKnown" | "report">,
  targets: ReadyProvider["targets"],
  place: (problems: readonly ProviderDiagnostic[]) => Diagnostic[] = bareDiagnostics,
): Promise<ReadyProvider | undefined> {
  const reachable = config.isWhollyKnown;
  if (known && !reachable)
    throw new Error("the configuration of a provider is unknown during apply");
  if (onlyKnown === true && !reachable) return { use, reachable, targets };
  const diagnostics = place(await use.configure(config, { deferralAllowed: !reachable }));
  report(diagnostics);
  return hasErrors(diagnostics) ? undefined : { use, reachable, targets };
}

function bareDiagnostics(problems: readonly ProviderDiagnostic[]): Diagnostic[] {
  return problems.map(({ severity, summary, detail }) => ({
    severity,
    code: "LANG_PROVIDER",
    summary,
    detail,
  }));
}

/** A provider that the configuration does not refer to, such as that of an object whose block was removed. */
export async function configureUndeclared(
  options: Pick<ConfigureProviderOptions, "reference" | "providers" | "report">,
): Promise<ReadyProvider | undefined> {
  const use = await startProvider(options);
  if (use === undefined) return undefined;
  return ready(
    use,
    emptyBlock(use.schema.provider),
    { known: false, report: options.report },
    new Set(),
  );
}
