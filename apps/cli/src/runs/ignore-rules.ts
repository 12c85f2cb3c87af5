/** What is left out of an archive. Paths are relative and with slashes. */
export interface IgnoreRules {
  isIgnored(path: string, isDirectory: boolean): boolean;
  /** Whether nothing below a folder is taken, so that it is not read. */
  isClosed(folder: string): boolean;
}

/** Rules that hold for every configuration: what belongs to tools and to this machine, keys among it. */
const DEFAULT_RULES = [".git/", ".terraform/", "!.terraform/modules/", ".stackwright/"].join("\n");

/**
 * The rules of a `.terraformignore` file, behind the default ones. Each line is a pattern: `#` begins a comment, `!` includes again what
 * an earlier line excludes, a slash in front binds to the folder of the file, one at the end excludes a folder with all in it;
 * `*`, `?`, `[...]` do not match a slash, `**` does. The last line that matches decides.
 */
export function parseIgnoreRules(text: string): IgnoreRules {
  const rules = `${DEFAULT_RULES}\n${text}`.split(/\r?\n/).flatMap((line) => {
    const pattern = line.trim();
    if (pattern === "" || pattern.startsWith("#")) return [];
    const isNegated = pattern.startsWith("!");
    return [{ isNegated, ...compile(isNegated ? pattern.slice(1) : pattern) }];
  });
  const hasNegation = /^\s*!/m.test(text);
  const isIgnored = (path: string, isDirectory: boolean): boolean => {
    let ignored = false;
    for (const { isNegated, own, below, onlyDirectories } of rules) {
      const matches = below.test(path) || (own.test(path) && (isDirectory || !onlyDirectories));
      if (matches) ignored = !isNegated;
    }
    return ignored;
  };
  return {
    isIgnored,
    isClosed: (folder) =>
      !hasNegation && !/(?:^|\/)\.terraform$/.test(folder) && isIgnored(folder, true),
  };
}

/** The pattern for a path itself, and the one for all below it. */
function compile(pattern: string) {
  const onlyDirectories = pattern.endsWith("/");
  const anchored = pattern.startsWith("/");
  const body = pattern.replace(/^\/+|\/+$/g, "");
  const source = `^${anchored ? "" : "(?:.*/)?"}${translate(body)}`;
  return {
    onlyDirectories,
    own: new RegExp(`${source}$`, "su"),
    below: new RegExp(`${source}/`, "su"),
  };
}

function translate(pattern: string): string {
  const parts = pattern.match(/\*\*\/|\*\*|\*|\?|\[!?[^\]]+\]|\\.|./gsu) ?? [];
  return parts
    .map((part) => {
      if (part === "**/") return "(?:.*/)?";
      if (part === "**") return ".*";
      if (part === "*") return "[^/]*";
      if (part === "?") return "[^/]";
      if (part.length > 2 && part.startsWith("[")) {
        const members = part
          .slice(1, -1)
          .replace(/^!/, "^")
          .replaceAll(/[\\[\]&~]/g, "\\$&");
        return `(?!/)[${members}]`;
      }
      return literal(part.startsWith("\\") && part.length === 2 ? part.slice(1) : part);
    })
    .join("");
}

function literal(character: string): string {
  return /[$()*+./?[\\\]^{|}]/.test(character) ? `\\${character}` : character;
}
