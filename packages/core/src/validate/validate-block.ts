import { Value } from "@stackwright/cty";
import {
  type BoundBody,
  bindBody,
  type Diagnostic,
  type EvaluatedBody,
  evaluateBody,
  expandRepetition,
  hasErrors,
  type ModuleScope,
  PROVIDER_META,
  providerDiagnostic,
  RESOURCE_META,
  type ResolvedProvider,
  type ResourceConfig,
  type ScopeTraversal,
  sourceRange,
} from "@stackwright/lang";
import type {
  BlockSchema,
  LifecycleContext,
  LifecycleProvider,
  ProviderDiagnostic,
  Reply,
} from "@stackwright/mux/router";
import { instanceContext } from "../providers/configure-provider.ts";
import { findType } from "../providers/find-type.ts";
import { blockType } from "../walk/block-type.ts";
import { withoutMarks } from "../walk/object-marks.ts";
import { conditionErrors } from "./condition-errors.ts";
import { anyInstance, type OpenModule } from "./open-module.ts";
import { provisionerErrors } from "./provisioner-errors.ts";
import type { ValidationProviders } from "./validation-providers.ts";

interface Shared {
  readonly module: OpenModule;
  readonly providers: ValidationProviders;
  readonly context: LifecycleContext;
  readonly settled: <T>(run: () => T) => Promise<T>;
}

/** Checks a configuration of a provider, where there is one, and each instance of one with `for_each`. */
export async function checkProvider(
  given: Shared & { readonly provider: ResolvedProvider },
): Promise<readonly Diagnostic[]> {
  const { instances } = given.provider;
  if (instances === undefined || instances.size === 0) return checkOneProvider(given);
  const found: Diagnostic[] = [];
  for (const provider of instances.values()) {
    found.push(...(await checkOneProvider({ ...given, provider })));
    // What is wrong with one is mostly wrong with all of them.
    if (hasErrors(found)) break;
  }
  return found;
}

async function checkOneProvider({
  module,
  provider,
  providers,
  context,
  settled,
}: Shared & { readonly provider: ResolvedProvider }): Promise<readonly Diagnostic[]> {
  const { source, config, address, instances } = provider;
  if (config === undefined) return [];
  const use = providers.of(source);
  if (use === undefined) {
    providers.miss(source, address);
    return [];
  }
  const { body, diagnostics } = bindBody(config.body, use.schema.provider, {
    meta: PROVIDER_META,
  });
  if (hasErrors(diagnostics) || instances !== undefined) return diagnostics;
  const scope = config.scope ?? module.scope.forInstance(instanceContext(provider));
  const evaluated = await settled(() => evaluateBody(body, scope, { ephemeral: "everywhere" }));
  return asked([...diagnostics, ...evaluated.diagnostics], evaluated, address, async (object) =>
    use.provider.validateProvider({ config: object }, context),
  );
}

/** Checks a resource, data source or ephemeral resource, for all its instances at once. */
export async function checkResource({
  module,
  config,
  id,
  providers,
  context,
  settled,
}: Shared & { readonly config: ResourceConfig; readonly id: string }): Promise<
  readonly Diagnostic[]
> {
  const found: Diagnostic[] = await settled(() => {
    const diagnostics: Diagnostic[] = [];
    expandRepetition(config, module.scope.forInstance({}), diagnostics);
    return diagnostics;
  });
  const use = providers.ofResource(module.node, config);
  const scope = module.scope.forInstance(anyInstance(config));
  if (use === undefined) {
    providers.miss(providers.sourceOf(module.node, config), id);
    found.push(...(await settled(() => conditionsOf(config, module, undefined))));
    return found;
  }
  const { schema, problem } = findType(use, config);
  if (problem !== undefined) {
    found.push(problem);
    return found;
  }
  const { block } = schema;
  found.push(...(await settled(() => conditionsOf(config, module, block))));
  found.push(...ignoreChangesProblems(config, block));
  found.push(...(await settled(() => provisionerErrors(config, scope, block))));
  const { body, diagnostics } = bindBody(config.body, block, { meta: RESOURCE_META });
  if (hasErrors(diagnostics)) return [...found, ...diagnostics];
  const evaluated = await settled(() => evaluate(body, scope, config));
  return asked(
    [...found, ...diagnostics, ...evaluated.diagnostics],
    evaluated,
    id,
    async (object) =>
      validator(use.provider, config)(
        { type: config.type, config: object, writeOnlyAllowed: true },
        context,
      ),
  );
}

function evaluate(body: BoundBody, scope: ModuleScope, { mode }: ResourceConfig): EvaluatedBody {
  return evaluateBody(body, scope, {
    ephemeral: mode === "ephemeral" ? "everywhere" : "write-only",
  });
}

function validator(provider: LifecycleProvider, { mode }: ResourceConfig) {
  const validate: LifecycleProvider["validateResource"] = async (request, context) => {
    if (mode === "managed") return provider.validateResource(request, context);
    return mode === "data"
      ? provider.validateDataSource(request, context)
      : provider.validateEphemeral({ ...request, writeOnlyAllowed: false }, context);
  };
  return validate;
}

/** What a provider says to a configuration in which nothing else is wrong, behind what is said already. */
async function asked(
  found: readonly Diagnostic[],
  evaluated: EvaluatedBody,
  address: string,
  ask: (config: Value) => Promise<Reply>,
): Promise<readonly Diagnostic[]> {
  if (hasErrors(found)) return found;
  const { diagnostics } = await ask(withoutMarks(evaluated.value));
  const place = (one: ProviderDiagnostic): Diagnostic =>
    providerDiagnostic(evaluated, one, address);
  return [...found, ...diagnostics.map(place)];
}

function conditionsOf(
  config: ResourceConfig,
  { scope }: OpenModule,
  block: BlockSchema | undefined,
): readonly Diagnostic[] {
  const { preconditions, postconditions } = config.lifecycle;
  const any = anyInstance(config);
  const self = block === undefined ? Value.dynamic : Value.unknown(blockType(block));
  return [
    ...conditionErrors(preconditions, scope.forInstance(any), { decided: false }),
    ...conditionErrors(postconditions, scope.forInstance({ ...any, self }), { decided: false }),
  ];
}

/** Names in `ignore_changes` that the type does not have. */
function ignoreChangesProblems(
  { lifecycle: { ignoreChanges }, type }: ResourceConfig,
  { attributes, blocks }: BlockSchema,
): readonly Diagnostic[] {
  if (ignoreChanges === "all") return [];
  return ignoreChanges
    .filter(({ root }: ScopeTraversal) => !attributes.has(root) && !blocks.has(root))
    .map((traversal) => ({
      severity: "error",
      code: "ENGINE_VALIDATE",
      summary: "Unsupported attribute",
      detail: `The resource type "${type}" has no argument or block "${traversal.root}", so that no changes of it can be ignored.`,
      subject: sourceRange(traversal.source, traversal.start, traversal.end),
    }));
}
