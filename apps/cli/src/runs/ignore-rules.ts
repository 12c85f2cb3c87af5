import { CommandError } from "../command-error.ts";

/** What is left out of an archive. Paths are relative and with slashes. */
export interface IgnoreRules {
  /** Whether a file is left out as one that holds secrets, and not because a line of the ignore file names it. */
  isWithheld(path: string): boolean;
  /** `CommandError` for a file of the store of a server that is not left out: states are not uploaded by mistake. */
  isIgnored(path: string, isDirectory: boolean): boolean;
  /** Whether nothing below a folder is taken, so that it is not read. */
  isClosed(folder: string): boolean;
}

/**
 * Rules that hold for every configuration: what belongs to tools and to this machine, keys among it. In a further work tree of a repository
 * `.git` is a file.
 */
const DEFAULT_RULES = [".git", ".terraform/", "!.terraform/modules/", ".stackwright/"];

/** Files that hold secrets in plain text and that no run reads as a rule: states, saved ones too, and files with variables of a shell. */
const WITHHELD = ["*.tfstate", "*.tfstate.*", ".env", ".env.*"];

/**
 * The rules of a `.terraformignore` file, behind the default ones. Each line is a pattern: `#` begins a comment, `!` includes again what
 * an earlier line excludes, a slash in front binds to the folder of the file, one at the end excludes a folder with all in it;
 * `*`, `?`, `[...]` do not match a slash, `**` does. The last line that matches decides.
 */
export function parseIgnoreRules(text: string): IgnoreRules {
  const parse = (lines: readonly string[], withheld = false) =>
    lines.flatMap((line) => {
      const pattern = line.trim();
      if (pattern === "" || pattern.startsWith("#")) return [];
      const isNegated = pattern.startsWith("!");
      return [{ isNegated, withheld, ...compile(isNegated ? pattern.slice(1) : pattern) }];
    });
  const rules = [...parse(DEFAULT_RULES), ...parse(WITHHELD, true), ...parse(text.split(/\r?\n/))];
  const hasNegation = /^\s*!/m.test(text);
  const deciding = (path: string, isDirectory: boolean) =>
    rules.findLast(
      ({ own, below, onlyDirectories }) =>
        below.test(path) || (own.test(path) && (isDirectory || !onlyDirectories)),
    );
  const isExcluded = (path: string, isDirectory: boolean): boolean =>
    deciding(path, isDirectory)?.isNegated === false;
  const stores = new StoreFolders();
  const isIgnored = (path: string, isDirectory: boolean): boolean => {
    const excluded = isExcluded(path, isDirectory);
    if (!excluded && !isDirectory) stores.add(path);
    return excluded;
  };
  return {
    isIgnored,
    isWithheld: (path) => deciding(path, false)?.withheld === true,
    isClosed: (folder) =>
      !hasNegation && !/(?:^|\/)\.terraform$/.test(folder) && isExcluded(folder, true),
  };
}

/** The files by which the folder of an embedded store is known: no other folder has both. */
const STORE_FILES: ReadonlySet<string> = new Set(["store.db", "writer.lock"]);

/** Finds folders of stores among the files that are taken. */
class StoreFolders {
  readonly #seen = new Map<string, Set<string>>();

  /** `CommandError` for the file that shows that its folder is a store. */
  add(path: string): void {
    const end = path.lastIndexOf("/");
    const name = path.slice(end + 1);
    if (!STORE_FILES.has(name)) return;
    const folder = path.slice(0, Math.max(0, end));
    const seen = this.#seen.get(folder) ?? new Set();
    this.#seen.set(folder, seen.add(name));
    if (seen.size < STORE_FILES.size) return;
    if (folder === "") {
      throw new CommandError("The folder of the configuration is the store of a server as well.", {
        advice: "Move one of them to another folder: a store is not uploaded.",
      });
    }
    throw new CommandError(`The folder "${folder}" holds the store of a server.`, {
      advice: `A store is not uploaded. Add the line /${folder}/ to .terraformignore, or to .stackwrightignore where there is one.`,
    });
  }
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
