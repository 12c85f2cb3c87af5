import { type PlanView, renderHtml, renderMarkdown, renderTerminal } from "@stackwright/plan-view";
import { parseForeignView } from "./foreign-view.ts";
import { renderedPlan } from "./rendered-plan.ts";

/** What a view is rendered as. */
export interface PlanForm {
  /** `terraform` is what `terraform show FILE` reads, of a plan in the form of `terraform show -json`; the others are of a view. */
  readonly form: "text" | "markdown" | "html" | "terraform";
  readonly title?: string;
  /** Bytes of Markdown. */
  readonly limitBytes?: number | undefined;
  /** Whether something else than a server wrote the view. Such a one is checked, in a thread. @default false */
  readonly isForeign?: boolean;
}

/** A stored view as text, Markdown or HTML, or a stored plan as commands render it. */
export function renderPlanForm(
  view: string,
  { form, title = "", limitBytes, isForeign = false }: PlanForm,
): string {
  if (form === "terraform") return renderedPlan(view);
  const parsed = isForeign ? parseForeignView(view) : (JSON.parse(view) as PlanView);
  switch (form) {
    case "html":
      return renderHtml(parsed, { title });
    case "markdown":
      return renderMarkdown(parsed, { title, ...(limitBytes !== undefined && { limitBytes }) });
    case "text":
      return renderTerminal(parsed);
    default:
      return form satisfies never;
  }
}
