import { CtyError, convert, deepMarks, Mark, Type } from "@stackwright/cty";
import {
  type Diagnostic,
  evaluate,
  hasErrors,
  type ModuleScope,
  type ProviderKey,
  type ProviderResolution,
  type ResolvedProvider,
  sourceRange,
} from "@stackwright/lang";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import type { ModuleInstance } from "../walk/module-instance.ts";
import type { Target } from "../walk/recorder.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";

/** The configuration of a provider for one instance of a resource. */
interface ChosenProvider {
  readonly resolved: ResolvedProvider;
  /** What the choice depends on. */
  readonly targets: ReadonlySet<Target>;
}

const NOTHING: ReadonlySet<Target> = new Set();

/** Finds the provider configuration of an instance: where it has `for_each`, by the key that is written. Undefined after an error, which is reported. */
export async function chooseProvider(
  resolution: ProviderResolution,
  world: EvaluationState,
  slot: InstanceSlot,
  report: (diagnostics: readonly Diagnostic[]) => void,
): Promise<ChosenProvider | undefined> {
  const { config, module } = slot.resource;
  const resolved = config && resolution.forResource(module.node, config);
  if (config === undefined || resolved === undefined) return undefined;
  const key = resolution.keyOf(module.node, config);
  if (resolved.instances === undefined || key === undefined) return { resolved, targets: NOTHING };
  const scope = scopeOf(key, slot);
  if (scope === undefined) return undefined;
  const { expression } = key;
  const evaluateKey = () => evaluate(expression, scope);
  await world.answered(evaluateKey);
  const { result, targets, blocked } = world.recorder.record(evaluateKey);
  const fail = (detail: string, summary = "Invalid provider instance key"): undefined =>
    report([
      {
        severity: "error",
        code: "ENGINE_CONFIG",
        summary,
        detail,
        subject: sourceRange(expression.source, expression.start, expression.end),
        address: slot.address,
      },
    ]) as undefined;
  report(result.diagnostics);
  if (hasErrors(result.diagnostics) || blocked.size > 0) return undefined;
  const marks = deepMarks(result.value);
  for (const [mark, text] of [
    [Mark.sensitive, "sensitive"],
    [Mark.ephemeral, "ephemeral"],
  ] as const) {
    if (marks.has(mark))
      return fail(`The key must not be made from ${text} values: it is recorded.`);
  }
  const [plain] = result.value.unmark();
  if (plain.isNull) return fail("The key must not be null.");
  if (!plain.isKnown)
    return fail(
      `The key for ${slot.address} depends on values that are known only after apply, so that there is no provider to plan with.`,
    );
  let text: string;
  try {
    text = convert(plain, Type.string).asString();
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return fail(`The key must be a string: ${error.message}.`);
  }
  const instance = resolved.instances.get(text);
  if (instance !== undefined) return { resolved: instance, targets };
  const known = [...resolved.instances.keys()].map((one) => JSON.stringify(one));
  return fail(
    `The provider configuration ${resolved.address} has no instance ${JSON.stringify(text)} for ${slot.address}. It has ${known.length === 0 ? "none" : known.join(", ")}.`,
    "Provider instance not present",
  );
}

/** The names that the key sees: of the instance itself, or of the call on the way that passes the configuration. */
function scopeOf({ passedTo }: ProviderKey, slot: InstanceSlot): ModuleScope | undefined {
  if (passedTo === undefined) return slot.resource.module.scope.forInstance(slot.context);
  let at: ModuleInstance | undefined = slot.resource.module;
  while (at !== undefined && at.node.path.length > passedTo.path.length) at = at.place?.call.parent;
  return at?.place?.call.parent.scope.forInstance(at.context);
}
