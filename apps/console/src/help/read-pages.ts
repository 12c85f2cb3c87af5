import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path/posix";
import { marked, type Token, type Tokens } from "marked";
import { LIBRARIES, libraryIndex, libraryPages } from "./library/library-pages.ts";

/** One page of the documentation, as it is in the repository or as it is made of its sources. */
export interface HelpPage {
  /** Its path in the repository, such as `docs/security.md`. */
  readonly path: string;
  readonly title: string;
  readonly tokens: readonly Token[];
}

/** The page that leads to all others. */
export const INDEX = "docs/README.md";
/** Files that pages tell readers to take, such as rules for alerts: shown as they are. */
const FILE = /\.ya?ml$/;
/** Pages are written for readers, but for those that record what was measured or decided. */
const LEFT_OUT = /(?:^|\/)BENCHMARKS\.md$|^docs\/(?:soak|adr)\//;

/** The index, and all pages that links lead to from it, in the order of the links. */
export async function readPages(root: string): Promise<ReadonlyMap<string, HelpPage>> {
  const pages = new Map<string, HelpPage>();
  const libraries = libraryPages(root);
  const made = new Map(libraries.map(({ path, markdown }) => [path, markdown]));
  const waiting = [INDEX];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (pages.has(path)) continue;
    const text =
      made.get(path) ??
      (await readFile(join(root, path), "utf8").catch((error: unknown) => {
        // A container is built without the pages that only contributors read.
        if (path !== INDEX && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }));
    if (text === undefined) continue;
    const tokens = FILE.test(path)
      ? tokensOfFile(path, text)
      : marked.lexer(path === LIBRARIES ? text + libraryIndex(libraries) : text);
    const heading = tokens.find(({ type }) => type === "heading");
    const title = heading !== undefined && "text" in heading ? String(heading.text) : path;
    pages.set(path, { path, title: title.replaceAll("`", ""), tokens });
    void marked.walkTokens(tokens, (token) => {
      if (token.type !== "link") return;
      const target = targetOf(path, String(token.href));
      if (target === undefined || LEFT_OUT.test(target.file)) return;
      if (target.file.endsWith(".md") || FILE.test(target.file)) waiting.push(target.file);
    });
  }
  return pages;
}

/** A file as the code of a page, whatever it has in it. */
function tokensOfFile(path: string, text: string): Token[] {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const code: Tokens.Code = { type: "code", raw: text, lang: "yaml", text };
  return [...marked.lexer(`# ${name}\n`), code];
}

/** What of the repository a link of a page leads to; undefined for one to the outside. */
export function targetOf(
  page: string,
  href: string,
): { readonly file: string; readonly anchor: string } | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return undefined;
  const [written = "", anchor = ""] = href.split("#");
  const path = decodeURIComponent(written);
  return { file: path === "" ? page : normalize(join(dirname(page), path)), anchor };
}

/** The file of a page below `/help/`. */
export function fileOf(path: string): string {
  if (path === INDEX) return "index.html";
  return FILE.test(path) ? `${path}.html` : path.replace(/\.md$/, ".html");
}

/** The address of a page on the server. */
export function addressOf(path: string): string {
  return path === INDEX ? "/help/" : `/help/${fileOf(path)}`;
}
