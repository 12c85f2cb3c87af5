/** Tags that say something about a whole declaration, with how that begins on a page. */
const TAGS: Readonly<Record<string, string>> = {
  returns: "Returns",
  throws: "Throws",
  default: "Default:",
  deprecated: "Deprecated:",
  see: "See",
};

/** The comment of a declaration as Markdown: names of others are shown as code, and tags as sentences or lists. */
export function commentMarkdown(comment: string): string {
  const [text = "", ...tags] = comment.split(/^@(?=\w)/m);
  const parts = [withNames(text).trim()];
  const parameters: string[] = [];
  for (const tag of tags) {
    const [, name = "", rest = ""] = /^(\w+)\s*([^]*)$/.exec(tag) ?? [];
    const said = withNames(rest).trim().replaceAll(/\n\s*/g, " ");
    const parameter = /^(?:\[?)(\w[\w.]*)\]?\s*(?:-\s*)?([^]*)$/.exec(said);
    if (name === "param" && parameter !== null) {
      parameters.push(`- \`${parameter[1] ?? ""}\`: ${parameter[2] ?? ""}`);
    } else if (name === "example") {
      parts.push(rest.includes("```") ? rest.trim() : `\`\`\`ts\n${rest.trim()}\n\`\`\``);
    } else {
      parts.push(`${TAGS[name] ?? `${name}:`} ${said}`.trim());
    }
  }
  if (parameters.length > 0) parts.splice(1, 0, parameters.join("\n"));
  return parts.filter((part) => part !== "").join("\n\n");
}

function withNames(text: string): string {
  return text.replaceAll(
    /\{@link(?:code|plain)?\s+([^}|\s]+)\s*(?:\|\s*)?([^}]*)\}/g,
    (_all, name: string, shown: string) => (shown.trim() === "" ? `\`${name}\`` : shown.trim()),
  );
}
