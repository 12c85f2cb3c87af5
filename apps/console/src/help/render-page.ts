import { Marked, type Token, type Tokens } from "marked";
import { addressOf, type HelpPage, INDEX, targetOf } from "./read-pages.ts";

/** Text under a heading, as it is searched. */
export interface HelpSection {
  readonly address: string;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** A page as it is sent, and what the search knows of it. */
interface RenderedPage {
  readonly html: string;
  readonly sections: readonly HelpSection[];
  /** Images of the repository that it shows. */
  readonly images: readonly string[];
}

interface Site {
  readonly pages: ReadonlyMap<string, HelpPage>;
  /** Names of the files that all pages load. */
  readonly assets: {
    readonly script: string;
    readonly styles: readonly string[];
    readonly icon: string;
  };
}

/** Renders one page with the list of all. Markup inside of pages is shown as text; links that lead to no page become text. */
export function renderPage(page: HelpPage, site: Site): RenderedPage {
  const images: string[] = [];
  const anchors = new Map<Token, string>();
  const sections = sectionsOf(page, anchors);
  const marked = new Marked({
    renderer: {
      heading(token) {
        const id = escapeHtml(anchors.get(token) ?? "");
        const text = this.parser.parseInline(token.tokens);
        return `<h${token.depth} id="${id}">${text}</h${token.depth}>\n`;
      },
      link(token) {
        const text = this.parser.parseInline(token.tokens);
        const target = targetOf(page.path, token.href);
        if (target === undefined) {
          return /^https?:/i.test(token.href)
            ? `<a href="${escapeHtml(token.href)}" rel="noreferrer">${text}</a>`
            : text;
        }
        const to = site.pages.get(target.file);
        if (to === undefined) return text;
        const anchor = target.anchor === "" ? "" : `#${target.anchor}`;
        return `<a href="${escapeHtml(addressOf(to.path) + anchor)}">${text}</a>`;
      },
      image(token) {
        const target = targetOf(page.path, token.href);
        if (target === undefined || !target.file.endsWith(".png")) return escapeHtml(token.text);
        images.push(target.file);
        return `<img src="/help/${escapeHtml(target.file)}" alt="${escapeHtml(token.text)}" loading="lazy">`;
      },
      html: ({ text }) => escapeHtml(text),
      table(token) {
        const table = tableHtml(token, (cell) => this.parser.parseInline(cell.tokens));
        return `<div class="wide">${table}</div>\n`;
      },
    },
  });
  const body = marked.parser([...page.tokens]);
  return { html: document(page, body, site), sections, images };
}

function tableHtml(token: Tokens.Table, inline: (cell: Tokens.TableCell) => string): string {
  const row = (cells: readonly Tokens.TableCell[], tag: "th" | "td") =>
    `<tr>${cells.map((cell) => `<${tag}>${inline(cell)}</${tag}>`).join("")}</tr>`;
  const rows = token.rows.map((cells) => row(cells, "td")).join("\n");
  return `<table>\n<thead>${row(token.header, "th")}</thead>\n<tbody>${rows}</tbody>\n</table>`;
}

/** The sections of a page; every heading gets the anchor that Git servers give it. */
function sectionsOf(page: HelpPage, anchors: Map<Token, string>): HelpSection[] {
  const counts = new Map<string, number>();
  const sections: { address: string; page: string; heading: string; text: string }[] = [];
  for (const token of page.tokens) {
    if (token.type === "heading") {
      const id = anchorOf((token as Tokens.Heading).text);
      const before = counts.get(id) ?? 0;
      counts.set(id, before + 1);
      const anchor = before === 0 ? id : `${id}-${before}`;
      anchors.set(token, anchor);
      sections.push({
        address: sections.length === 0 ? addressOf(page.path) : `${addressOf(page.path)}#${anchor}`,
        page: page.title,
        heading: plain((token as Tokens.Heading).text),
        text: "",
      });
    } else {
      const last = sections.at(-1);
      if (last !== undefined && token.type !== "space") last.text += ` ${plain(token.raw)}`;
    }
  }
  return sections.map((section) => ({
    ...section,
    text: section.text.replace(/\s+/g, " ").trim(),
  }));
}

function anchorOf(title: string): string {
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** Markdown without its signs. */
function plain(text: string): string {
  return text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^\s*(?:```|~~~).*$/gm, " ")
    .replace(/\|[ :|-]*\n/g, " ")
    .replace(/[`*|]/g, " ");
}

/** The pages that the index names, under its headings. */
function navigation({ pages }: Site, present: HelpPage): string {
  const index = pages.get(INDEX);
  const parts: string[] = [];
  let open = false;
  const marked = new Marked();
  for (const token of index?.tokens ?? []) {
    if (token.type === "heading" && (token as Tokens.Heading).depth === 2) {
      if (open) parts.push("</ul>");
      parts.push(`<h2>${escapeHtml((token as Tokens.Heading).text)}</h2>\n<ul>`);
      open = true;
      continue;
    }
    void marked.walkTokens([token], (part) => {
      if (part.type !== "link") return;
      const target = targetOf(INDEX, String(part.href));
      const page = target && pages.get(target.file);
      if (!open || page === undefined) return;
      const current = page === present ? ' aria-current="page"' : "";
      parts.push(
        `<li><a href="${addressOf(page.path)}"${current}>${escapeHtml(plain((part as Tokens.Link).text))}</a></li>`,
      );
    });
  }
  if (open) parts.push("</ul>");
  return parts.join("\n");
}

function document(page: HelpPage, body: string, site: Site): string {
  const { script, styles, icon } = site.assets;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} - Stackwright</title>
<link rel="icon" href="/help/${icon}" type="image/svg+xml">
${styles.map((name) => `<link rel="stylesheet" href="/help/${name}">`).join("\n")}
<script src="/help/${script}" defer></script>
</head>
<body class="help">
<header>
<a class="name" href="/help/">Stackwright</a>
<form role="search" id="search" hidden>
<label for="words">Search</label>
<input id="words" type="search" autocomplete="off" spellcheck="false">
</form>
</header>
<nav aria-label="Pages">
${navigation(site, page)}
</nav>
<main>
<section id="found" aria-live="polite" hidden></section>
<article id="page">
${body}</article>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
