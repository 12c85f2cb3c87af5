/** Forms of a plan for decisions, by their names as values of `--view`. */
export const VIEW_FORMS = ["text", "markdown", "html", "page", "json"] as const;
export type ViewForm = (typeof VIEW_FORMS)[number];
