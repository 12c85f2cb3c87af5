import { deepValues, type Value } from "@stackwright/cty";
import type { PlanDocuments } from "../state/plan-documents.ts";
import type { StackReference } from "../state/stack-state.ts";
import type { Plan } from "./plan.ts";

/** What a plan is, beside itself. */
export interface AboutPlan {
  readonly stack: StackReference;
  readonly digest: string;
  /** Texts that are in none of the forms, although nothing in the plan says so: those of ephemeral variables. */
  readonly secrets: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Keeps a plan in forms without secrets. Undefined where they are not kept. What goes wrong is for the writer to say: a plan is as good
 * without them. Rejects if the signal has aborted alone.
 */
export type PlanDocumentWriter = (
  plan: Plan,
  about: AboutPlan,
) => Promise<PlanDocuments | undefined>;

/** Texts and numbers of the variables that a plan does not keep: nothing in the plan says that they are secrets. */
export function ephemeralTexts(
  { variables: kept }: Pick<Plan, "variables">,
  variables: ReadonlyMap<string, Value>,
): readonly string[] {
  return [...variables].flatMap(([name, value]) =>
    kept.has(name)
      ? []
      : [...deepValues(value)].flatMap(([, part]) => leafText(part.unmark()[0]) ?? []),
  );
}

function leafText(part: Value): string | undefined {
  if (!part.isKnown || part.isNull) return undefined;
  if (part.type.kind === "string") return part.asString();
  return part.type.kind === "number" ? part.asBigFloat().text() : undefined;
}
