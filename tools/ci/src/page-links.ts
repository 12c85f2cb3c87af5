import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Folders whose pages are data of tests. */
const DATA = /(?:^|\/)(?:fixtures|__fixtures__|testdata)\//;

/** A link of a page, and the line that it is in. */
interface PageLink {
  readonly line: number;
  readonly target: string;
}

/** The links of all pages of the repository that lead nowhere: files that do not exist, headings that a page does not have. */
export function deadLinks(root: string): { readonly pages: number; readonly problems: string[] } {
  const pages = execFileSync("git", ["ls-files", "-z", "*.md"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter((page) => page !== "" && !DATA.test(page) && existsSync(join(root, page)));
  const headings = new Map<string, ReadonlySet<string>>();
  const read = (page: string): string => readFileSync(join(root, page), "utf8");
  const headingsOf = (page: string): ReadonlySet<string> => {
    const known = headings.get(page) ?? headingIds(read(page));
    headings.set(page, known);
    return known;
  };
  const problems = pages.flatMap((page) =>
    linksOf(read(page)).flatMap(({ line, target }) => {
      const problem = problemOf(root, page, target, headingsOf);
      return problem === undefined ? [] : [`${page}:${line}: ${problem}`];
    }),
  );
  return { pages: pages.length, problems };
}

function problemOf(
  root: string,
  page: string,
  target: string,
  headingsOf: (page: string) => ReadonlySet<string>,
): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return undefined;
  const [written = "", anchor] = target.split("#");
  const path = decodeURIComponent(written);
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (file.startsWith("..") || path.startsWith("/")) {
    return `the link to ${target} leads out of the repository`;
  }
  if (!existsSync(join(root, file))) return `there is no ${file} that the link to ${target} names`;
  if (anchor === undefined || anchor === "" || !file.endsWith(".md")) return undefined;
  return headingsOf(file).has(anchor) ? undefined : `${file} has no heading for #${anchor}`;
}

/** The targets of links and images in a page, code left out. */
export function linksOf(text: string): PageLink[] {
  const blank = (match: string) => match.replace(/[^\n]/g, " ");
  const prose = text
    .replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1/gm, blank)
    // Code has no links, but links have code as their text.
    .replace(/\[?(`+)[^\n]*?[^`\n]\1(?!`)/g, (match) =>
      match.startsWith("[") ? match : blank(match),
    );
  return [...prose.matchAll(/\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)(?:\s+"[^"]*")?\)/g)].map(
    (match) => ({
      line: prose.slice(0, match.index).split("\n").length,
      target: match[1] ?? "",
    }),
  );
}

/** The anchors of the headings of a page, as Git servers make them. */
export function headingIds(text: string): ReadonlySet<string> {
  const prose = text.replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1/gm, "");
  const counts = new Map<string, number>();
  const ids = new Set<string>();
  for (const [, title = ""] of prose.matchAll(/^#{1,6}[ \t]+([^\n]*?)[ \t]*#*$/gm)) {
    const id = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-");
    const before = counts.get(id) ?? 0;
    counts.set(id, before + 1);
    ids.add(before === 0 ? id : `${id}-${before}`);
  }
  return ids;
}
