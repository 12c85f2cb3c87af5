import type { ProviderLock } from "./provider-lock.ts";

const HEADER = `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.
`;

/** Characters that a quoted string shows as they are; the others are escaped by number. */
const PRINTABLE = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
};

function escapeByNumber(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** What nearly all strings of lock files consist of; it stands for itself. */
const PLAIN = /^[0-9A-Za-z:/+=._, <>!~-]*$/;

/** A string in the quoted form of HCL, as the command writes it. */
function quoteHcl(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let out = "";
  for (const char of text.replace(/[$%](?=\{)/g, "$&$&")) {
    out += ESCAPES[char] ?? (PRINTABLE.test(char) ? char : escapeByNumber(char));
  }
  return `"${out}"`;
}

/**
 * The text of a lock file with the given entries, in their order: byte for byte what the command
 * writes. Arguments are aligned as its formatter aligns them, empty ones are left out.
 */
export function formatLockFile(locks: Iterable<ProviderLock>): string {
  let text = HEADER;
  for (const { address, version, constraints, hashes } of locks) {
    text += `\nprovider ${quoteHcl(address.toString())} {\n`;
    const constraintsText = constraints.toString();
    if (constraintsText === "") {
      text += `  version = ${quoteHcl(version.toString())}\n`;
    } else {
      text += `  version     = ${quoteHcl(version.toString())}\n`;
      text += `  constraints = ${quoteHcl(constraintsText)}\n`;
    }
    if (hashes.length > 0) {
      text += "  hashes = [\n";
      for (const hash of hashes) text += `    ${quoteHcl(hash)},\n`;
      text += "  ]\n";
    }
    text += "}\n";
  }
  return text;
}
