import { type PlanView, VIEW_SCHEMA } from "@stackwright/plan-view";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";

/**
 * A view that something else than this server wrote: renderers trust their views, so that it has to be one. Throws an error that says what is
 * wrong with it. To be called where a long computation holds up no others.
 */
export function parseForeignView(text: string): PlanView {
  const view = JSON.parse(text) as PlanView;
  const validator = Compile(VIEW_SCHEMA as TSchema);
  if (!validator.Check(view)) {
    const [first] = validator.Errors(view);
    throw new Error(`${first?.instancePath || "it"} ${first?.message ?? "is not of the form"}`);
  }
  const { changes, groups } = view;
  const shown = groups.flatMap(({ entries }) => entries.flatMap((entry) => entry.changes));
  // Otherwise a short view has a long text.
  if (new Set(shown).size !== shown.length || shown.some((at) => at >= changes.length)) {
    throw new Error("its groups do not show each change once");
  }
  return view;
}
