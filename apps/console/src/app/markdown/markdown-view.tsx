import { visibleText } from "@stackwright/plan-view/lines";
import { Lexer, type Token, type Tokens } from "marked";
import { createElement, Fragment, type ReactNode, useMemo } from "react";
import { TableScroll } from "../parts/table-scroll.tsx";
import { resolveReferences } from "./character-references.ts";
import { linkAddress } from "./link-address.ts";
// oxlint-disable-next-line import/no-unassigned-import -- styles of this module alone, which are loaded with it
import "./markdown.css";

/** Characters that are rendered; of a longer text the source is shown. */
const MAX_CHARACTERS = 200_000;
/** Quotes, lists and emphasis within each other; deeper ones are shown as they are written. */
const MAX_DEPTH = 24;
/** The page and its section have the headings above. */
const TOP_HEADING = 3;

interface MarkdownViewProps {
  readonly text: string;
  /** What the ids of its headings begin with, so that none is an id of the page. */
  readonly idPrefix: string;
}

/**
 * A text in Markdown as elements of the page. It never becomes markup: every word of it is a text node, markup within it is shown as it is
 * written, links open only addresses that run nothing, and images are named, not loaded.
 */
export function MarkdownView({ text, idPrefix }: MarkdownViewProps) {
  const content = useMemo(() => render(text, idPrefix), [text, idPrefix]);
  return <div className="markdown">{content}</div>;
}

function render(text: string, idPrefix: string): ReactNode {
  if (text.length <= MAX_CHARACTERS) {
    try {
      // Tabs and ends of lines as they are; of what else cannot be seen, the code.
      const source = text.replace(/^\ufeff/, "").replaceAll(/\r\n?/g, "\n");
      return new Renderer(idPrefix).blocks(new Lexer({ gfm: true }).lex(source), 0);
    } catch (error) {
      // What is nested a thousand times ends the stack.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return (
    <pre className="diff" tabIndex={0}>
      {shown(text)}
    </pre>
  );
}

class Renderer {
  readonly #idPrefix: string;
  readonly #ids = new Map<string, number>();

  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  blocks(tokens: readonly Token[], depth: number): ReactNode {
    if (depth > MAX_DEPTH) return shown(tokens.map(({ raw }) => raw).join(""));
    return tokens.map((token, at) => (
      // The tokens of a text never change.
      // oxlint-disable-next-line react/no-array-index-key
      <Fragment key={at}>{this.#element(token as KnownToken, depth)}</Fragment>
    ));
  }

  #element(token: KnownToken, depth: number): ReactNode {
    switch (token.type) {
      case "space":
      case "def":
        return null;
      case "heading":
        return createElement(
          `h${Math.min(6, token.depth + TOP_HEADING - 1)}`,
          { id: this.#idOf(token.text) },
          this.#inline(token.tokens, depth + 1),
        );
      case "paragraph":
        return <p>{this.#inline(token.tokens, depth + 1)}</p>;
      case "code":
        return (
          <pre className="diff" tabIndex={0}>
            {shown(token.text)}
          </pre>
        );
      case "blockquote":
        return <blockquote>{this.blocks(token.tokens, depth + 1)}</blockquote>;
      case "list":
        return this.#list(token, depth + 1);
      case "table":
        return this.#table(token, depth + 1);
      case "hr":
        return <hr />;
      case "text":
        return token.tokens === undefined
          ? shown(resolveReferences(token.text))
          : this.#inline(token.tokens, depth + 1);
      case "escape":
        return shown(token.text);
      case "codespan":
        return <code>{shown(token.text)}</code>;
      case "strong":
        return <strong>{this.#inline(token.tokens, depth + 1)}</strong>;
      case "em":
        return <em>{this.#inline(token.tokens, depth + 1)}</em>;
      case "del":
        return <del>{this.#inline(token.tokens, depth + 1)}</del>;
      case "br":
        return <br />;
      case "checkbox":
        return token.checked ? "☑ " : "☐ ";
      case "link":
        return this.#link(token, depth + 1);
      case "image":
        return <span className="quiet">{shown(resolveReferences(token.text)) || "image"}</span>;
      case "html":
        return markupText(token);
      default:
        // What a later release of the library knows.
        return shown((token satisfies never as Token).raw);
    }
  }

  #list({ ordered, start, items }: Tokens.List, depth: number): ReactNode {
    const children = items.map(({ tokens }, at) => (
      // As above.
      // oxlint-disable-next-line react/no-array-index-key
      <li key={at}>{this.blocks(tokens, depth + 1)}</li>
    ));
    return ordered ? <ol start={start === "" ? 1 : start}>{children}</ol> : <ul>{children}</ul>;
  }

  #table({ header, rows }: Tokens.Table, depth: number): ReactNode {
    const cells = (row: readonly Tokens.TableCell[], tag: "th" | "td"): ReactNode =>
      row.map(({ tokens }, at) =>
        createElement(
          tag,
          { key: at, ...(tag === "th" && { scope: "col" }) },
          this.#inline(tokens, depth + 1),
        ),
      );
    return (
      <TableScroll>
        <table>
          <thead>
            <tr>{cells(header, "th")}</tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              // As above.
              // oxlint-disable-next-line react/no-array-index-key
              <tr key={at}>{cells(row, "td")}</tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    );
  }

  #inline(tokens: readonly Token[], depth: number): ReactNode {
    if (depth > MAX_DEPTH) return shown(tokens.map(({ raw }) => raw).join(""));
    return tokens.map((token, at) => (
      // As above.
      // oxlint-disable-next-line react/no-array-index-key
      <Fragment key={at}>{this.#element(token as KnownToken, depth)}</Fragment>
    ));
  }

  #link(token: Tokens.Link, depth: number): ReactNode {
    const children = this.#inline(token.tokens, depth);
    const href = token.autolink === true ? token.href : resolveReferences(token.href);
    if (/^#[\w.%-]+$/.test(href)) {
      return <a href={`#${this.#idPrefix}${slugOf(href.slice(1))}`}>{children}</a>;
    }
    const address = linkAddress(href);
    if (address === undefined) return children;
    return (
      <a href={address} title={address} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    );
  }

  /** The anchor of a heading, as Git servers give it, behind the prefix. */
  #idOf(text: string): string {
    const slug = slugOf(text);
    const before = this.#ids.get(slug) ?? 0;
    this.#ids.set(slug, before + 1);
    return `${this.#idPrefix}${slug}${before === 0 ? "" : `-${before}`}`;
  }
}

type KnownToken =
  | Tokens.Space
  | Tokens.Def
  | Tokens.Heading
  | Tokens.Paragraph
  | Tokens.Code
  | Tokens.Blockquote
  | Tokens.List
  | Tokens.Table
  | Tokens.Hr
  | Tokens.HTML
  | Tokens.Tag
  | Tokens.Text
  | Tokens.Escape
  | Tokens.Codespan
  | Tokens.Strong
  | Tokens.Em
  | Tokens.Del
  | Tokens.Br
  | Tokens.Checkbox
  | Tokens.Link
  | Tokens.Image;

/** Markup as it is written, but for what shows nothing, and for ends of lines. */
function markupText({ raw, block }: Tokens.HTML | Tokens.Tag): ReactNode {
  const text = raw.trim();
  if (/^<br\s*\/?>$/i.test(text)) return <br />;
  if (isSilent(text)) return null;
  return block ? <p>{shown(text)}</p> : shown(raw);
}

/** Markup that generators of documentation write and that shows nothing: comments, anchors, and tags without attributes around text. */
function isSilent(markup: string): boolean {
  return (
    /^<!--[^>]*-->$/.test(markup) ||
    /^<a (?:name|id)="[\w.-]*">(?:<\/a>)?$|^<\/a>$/i.test(markup) ||
    /^<\/?(?:pre|code|p|div|b|i|em|strong|kbd|sub|sup|details|summary)>$/i.test(markup)
  );
}

function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** A text whose control characters and directions of writing are shown as their codes. */
function shown(text: string): string {
  return text.split("\n").map(visibleText).join("\n");
}
