import type { Path, Value } from "@stackwright/cty";
import type { ModuleNode, ResourceConfig } from "@stackwright/lang";
import { hasEffect, type OutputChange, type ResourceChange } from "../plan/change.ts";
import type { Plan } from "../plan/plan.ts";
import { planConcealer } from "../plan/shown-plan.ts";
import { leafText } from "../secrets/concealer.ts";
import { configOf } from "./prevent-destroy.ts";
import { expressionLiteral, literalsIn, writtenLiteral } from "./written-literal.ts";

/**
 * The changes and outputs of a plan with the places that are shown although they equal or hold a secret, as the configuration writes them
 * as literals (see `Concealer`). Nothing is looked for where the plan has no secrets, or changes nothing.
 */
export function withOpenPlaces<T extends Pick<Plan, "variables" | "changes" | "drift" | "outputs">>(
  plan: T,
  root: ModuleNode,
): T {
  if (!plan.changes.some(hasEffect) && plan.outputs.every(({ action }) => action === "no-op")) {
    return plan;
  }
  const concealer = planConcealer(plan);
  if (!concealer.hasSecrets) return plan;
  const open = <C extends ResourceChange | OutputChange>(
    change: C,
    literalAt: (path: Path) => string | undefined,
  ): C => {
    const { before, after } = change;
    if (after === undefined) return change;
    const found = new Map<string, Path>();
    concealer.concealUnless(
      (path: Path, leaf: Value) => {
        const isOpen = literalAt(path) === leafText(leaf);
        if (isOpen) found.set(path.toString(), path);
        return isOpen;
      },
      after,
      before,
    );
    return found.size === 0 ? change : { ...change, open: [...found.values()] };
  };
  const known = new Map<ResourceConfig, { readonly of: ReturnType<typeof literalsIn> }>();
  return {
    ...plan,
    changes: plan.changes.map((change) => {
      if (change.deposed !== "") return change;
      const config = configOf(root, change.address);
      if (config === undefined) return change;
      let literals = known.get(config);
      if (literals === undefined) {
        literals = { of: literalsIn(config.body) };
        known.set(config, literals);
      }
      // Most instances write nothing that could be a secret.
      const mayBeOpen =
        literals.of === undefined ||
        Array.from(literals.of(change.key)).some((text) => concealer.mayHide(text));
      if (!mayBeOpen) return change;
      return open(change, (path) => writtenLiteral(config, path, change.key));
    }),
    outputs: plan.outputs.map((output) => {
      const expression = root.config.outputs.get(output.name)?.expression;
      if (expression === undefined) return output;
      return open(output, (path) => expressionLiteral(expression, path));
    }),
  };
}
