import { concealPlan, type Plan } from "@stackwright/core";
import {
  planView,
  renderHtml,
  renderHtmlPage,
  renderMarkdown,
  renderTerminal,
} from "@stackwright/plan-view";
import type { ViewForm } from "./view-forms.ts";

/** A plan as a view: by risk, with causes, alike instances folded, without sensitive values. Ends with a line feed. */
export function viewText(
  plan: Plan,
  form: ViewForm,
  {
    planDigest,
    color,
    title,
  }: {
    readonly planDigest: string;
    readonly color: boolean;
    readonly title: string;
  },
): string {
  const view = planView(concealPlan(plan), { planDigest });
  switch (form) {
    case "json":
      return `${JSON.stringify(view)}\n`;
    case "markdown":
      return renderMarkdown(view, { title });
    case "html":
      return renderHtml(view, { title });
    case "page":
      return renderHtmlPage(view, { title });
    case "text":
    default:
      return renderTerminal(view, { color });
  }
}
