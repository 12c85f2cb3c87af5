import { RE2JS, RE2JSException } from "re2js";
import { invalidArgument } from "./parameter.ts";

/**
 * A test for paths by a pattern: `*` and `?` within a part, `**` as a whole part for any number of
 * parts, `[class]` and `{a,b}`. Matching takes linear time.
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  if (pattern.length > 1024) invalidArgument("a pattern may have 1024 characters", 1);
  const parts = pattern.split("/").filter((part) => part !== "" && part !== ".");
  const source = parts
    .map((part, index) => {
      const last = index === parts.length - 1;
      if (part === "**") return last ? ".*" : "(?:[^/]+/)*";
      return translatePart(part) + (last ? "" : "/");
    })
    .join("");
  try {
    const compiled = RE2JS.compile(`^${source}$`, RE2JS.DOTALL);
    return (path) => compiled.matcher(path).matches();
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return invalidArgument("syntax error in pattern", 1);
  }
}

function translatePart(part: string): string {
  let out = "";
  let braces = 0;
  for (let at = 0; at < part.length; at++) {
    const char = part[at] ?? "";
    if (char === "*") {
      out += "[^/]*";
      while (part[at + 1] === "*") at++;
    } else if (char === "?") {
      out += "[^/]";
    } else if (char === "[") {
      const close = part.indexOf("]", at + 2);
      if (close === -1) invalidArgument("syntax error in pattern: a bracket is not closed", 1);
      const body = part
        .slice(at + 1, close)
        .replace(/^!/, "^")
        .replaceAll("\\", "\\\\");
      out += `[${body}]`;
      at = close;
    } else if (char === "{") {
      braces++;
      out += "(?:";
    } else if (char === "}" && braces > 0) {
      braces--;
      out += ")";
    } else if (char === "," && braces > 0) {
      out += "|";
    } else if (char === "\\") {
      at++;
      out += RE2JS.quote(part[at] ?? "\\");
    } else {
      out += RE2JS.quote(char);
    }
  }
  if (braces > 0) invalidArgument("syntax error in pattern: a brace is not closed", 1);
  return out;
}
