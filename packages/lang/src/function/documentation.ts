import { typeExpression } from "@stackwright/cty";
import {
  type FunctionCategory,
  functionSignature,
  type LangFunction,
  type Parameter,
} from "../eval/function.ts";

const TITLES: Readonly<Record<FunctionCategory, string>> = {
  numeric: "Numbers",
  string: "Strings",
  collection: "Collections",
  encoding: "Encodings",
  filesystem: "Files",
  date: "Dates and times",
  hash: "Hashes and cryptography",
  network: "Addresses",
  type: "Types, marks and errors",
  provider: "Providers",
};

/** A reference of functions in Markdown, by category and name, made from their definitions. */
export function functionReference(functions: readonly LangFunction[]): string {
  const sections = Object.entries(TITLES).flatMap(([category, title]) => {
    const own = functions
      .filter((definition) => definition.category === category)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return own.length === 0 ? [] : [`## ${title}\n\n${own.map(section).join("\n")}`];
  });
  return `# Functions\n\n${sections.join("\n")}`;
}

function section(definition: LangFunction): string {
  const { name, description, parameters, rest, dialect } = definition;
  const origin = dialect === "opentofu" ? " (from OpenTofu)" : "";
  const list = [
    ...parameters.map((parameter) => parameterLine(parameter)),
    ...(rest === undefined ? [] : [`${parameterLine(rest)}; any number`]),
  ];
  const lines = list.map((line) => `- ${line}\n`).join("");
  return `### ${name}${origin}\n\n\`${functionSignature(definition)}\`\n\n${description}\n${lines === "" ? "" : `\n${lines}`}`;
}

function parameterLine({ name, type, description }: Parameter): string {
  return `\`${name}\` (${typeExpression(type)}): ${description}`;
}
