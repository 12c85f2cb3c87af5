import { posix } from "node:path";

/** A page of a package, and where what it links to can be read. */
interface PageOfPackage {
  /** Path of the page in the repository. */
  readonly page: string;
  /** Whether the package has a file, by its path in the repository. */
  readonly isPacked: (path: string) => boolean;
  /** The address of a file of the repository; undefined where the repository has none yet. */
  readonly addressOf: ((path: string) => string) | undefined;
}

// Brackets within the text of a link, as in `[a[0]](b)`, and parentheses within its target, one deep.
const LINK =
  /(!?)\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)((?:\s+"[^"]*")?)\)/g;

/**
 * The page as readers of the package get it: links to files that the package lacks lead to the repository. Where that has no address yet
 * they are text, as a link that leads nowhere would be worse.
 */
export function linkForReaders(text: string, { page, isPacked, addressOf }: PageOfPackage): string {
  let written = "";
  let end = 0;
  for (const match of withoutCode(text).matchAll(LINK)) {
    const [whole, image = "", label = "", target = "", title = ""] = match;
    const [path = "", anchor] = target.split("#");
    const isElsewhere = path === "" || /^[a-z][a-z0-9+.-]*:/i.test(target);
    const file = posix.normalize(posix.join(posix.dirname(page), decoded(path)));
    if (isElsewhere || isPacked(file)) continue;
    const begin = match.index;
    const name = text.slice(begin + image.length + 1, begin + image.length + 1 + label.length);
    const address = addressOf?.(file);
    const fragment = anchor === undefined ? "" : `#${anchor}`;
    written += text.slice(end, begin);
    written += address === undefined ? name : `${image}[${name}](${address}${fragment}${title})`;
    end = begin + whole.length;
  }
  return written + text.slice(end);
}

/** A block of code between fences. */
const FENCED = /^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?^[ \t]*\1/gm;
/** Code within a line ends with as many backticks as it begins with, before the end of its paragraph. */
const INLINE = /(?<![\\`])(`+)(?!`)(?:(?!\n[ \t]*(?:\n|[-*+#>|]|\d+\.))[\s\S])*?(?<!`)\1(?!`)/g;

/** The text with blanks in the place of code, which has no links. */
function withoutCode(text: string): string {
  const blank = (match: string): string => match.replace(/[^\n]/g, " ");
  return text.replace(FENCED, blank).replace(INLINE, blank);
}

/** What a target stands for; `%` may be a character of a name. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
