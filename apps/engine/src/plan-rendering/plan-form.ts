import { type PlanView, renderHtml, renderMarkdown, renderTerminal } from "@stackwright/plan-view";

/** What a view is rendered as. */
export interface PlanForm {
  readonly form: "text" | "markdown" | "html";
  readonly title: string;
  /** Bytes of Markdown. */
  readonly limitBytes?: number | undefined;
}

/** A stored view as text, Markdown or HTML. */
export function renderPlanForm(view: string, { form, title, limitBytes }: PlanForm): string {
  const parsed = JSON.parse(view) as PlanView;
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
