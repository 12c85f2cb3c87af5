import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path/posix";
import { marked, type Token, type Tokens } from "marked";
import { ERROR_CODES, errorPages, linkCodes, mentionsOf } from "./error-pages.ts";
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
  // A container is built without the list.
  const codes = errorPages(await readFile(join(root, ERROR_CODES), "utf8").catch(() => ""));
  const made = new Map([...libraries, ...codes].map(({ path, markdown }) => [path, markdown]));
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
      : marked.lexer(completed(path, text, libraryIndex(libraries)));
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
  const texts = [...pages.values()]
    .filter(({ path }) => !path.startsWith("docs/error-codes/"))
    .map(({ path, title, tokens }) => ({
      path,
      title,
      text: tokens.map(({ raw }) => raw).join(""),
    }));
  for (const { path, code } of codes) {
    const page = pages.get(path);
    if (page === undefined) continue;
    const mentions = marked.lexer(mentionsOf(code, texts));
    pages.set(path, { ...page, tokens: [...page.tokens, ...mentions] });
  }
  return pages;
}

/** A page of the repository with links to pages that are made. */
function completed(path: string, text: string, index: string): string {
  if (path === LIBRARIES) return text + index;
  return path === ERROR_CODES ? linkCodes(text) : text;
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
