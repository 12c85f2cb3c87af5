import { writeFileSync } from "node:fs";
import { REFERENCE_OPTIONS, type ReferenceOption } from "../program/reference-options.ts";
import { REFERENCE_VARIABLES } from "../program/reference-variables.ts";

/** The page of the manual that lists the options of the reference command, from the table that declares them. */
export function referencePage(): string {
  const rows: [string, string, string, string][] = [
    ["Command", "Options with the same meaning", "Accepted without effect", "Refused"],
  ];
  for (const [words, options] of Object.entries(REFERENCE_OPTIONS)) {
    const of = (...kinds: readonly ReferenceOption["kind"][]): string =>
      Object.entries(options)
        .filter(([, { kind }]) => kinds.includes(kind))
        .map(([name]) => `\`-${name}\``)
        .toSorted()
        .join(", ");
    rows.push([`\`${words}\``, of("same"), of("mapped", "ignored"), of("refused")]);
  }
  const notes = new Map<string, Set<string>>();
  for (const options of Object.values(REFERENCE_OPTIONS)) {
    for (const [name, option] of Object.entries(options)) {
      if (option.kind === "same") continue;
      const text =
        option.kind === "refused"
          ? option.instead
          : option.kind === "ignored"
            ? option.because
            : option.to;
      const key = `\`-${name}\` ${option.kind === "refused" ? "is refused" : "has no effect"}`;
      notes.set(key, (notes.get(key) ?? new Set()).add(text));
    }
  }
  const reasons = [...notes]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, texts]) => `- ${key}. ${[...texts].join(" ")}`);
  return `${HEAD}\n${table(rows)}\n\n## Reasons\n\n${reasons.join("\n")}\n\n${VARIABLES}\n${variables()}\n`;
}

const HEAD = `# Options of Terraform

The options of Terraform 1.11.4 and OpenTofu 1.12. An option without effect writes a line to
standard error. A refused option ends the command with exit code 1.
`;

const VARIABLES = `## Variables

A variable without effect writes a line to standard error. A name with \`*\` stands for all that begin with it.
`;

function variables(): string {
  return Object.entries(REFERENCE_VARIABLES)
    .map(([name, variable]) => {
      const text =
        variable.kind === "obeyed"
          ? `: ${variable.meaning}`
          : ` has no effect. ${variable.because}`;
      return `- \`${name}${name.endsWith("_") ? "*" : ""}\`${text}`;
    })
    .join("\n");
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

// Writes the page: node reference-page.ts
if (import.meta.main) {
  writeFileSync(new URL("../../docs/terraform-commands.md", import.meta.url), referencePage());
}
