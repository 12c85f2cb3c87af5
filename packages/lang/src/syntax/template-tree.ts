import { append } from "@stackwright/base/append";
import type { Expression, For, StringLiteral } from "./ast.ts";
import type { Cursor } from "./cursor.ts";

/** Text of a template. Its value shrinks while white space is being removed. */
export interface TemplateTextPart {
  readonly type: "text";
  value: string;
  readonly start: number;
  readonly end: number;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

interface IfPart extends Place {
  readonly type: "if";
  readonly condition: Expression;
}

interface ForPart extends Place {
  readonly type: "for";
  readonly keyName: string | undefined;
  readonly valueName: string;
  readonly collection: Expression;
}

/** One item of the flat list that a template is first read into. */
export type TemplatePart =
  | TemplateTextPart
  | ({ readonly type: "interpolation"; readonly expression: Expression } & Place)
  | IfPart
  | ForPart
  | ({ readonly type: "else" | "endif" | "endfor" } & Place);

/** Makes the expression of a template from its parts. Directives out of balance are reported. */
export function buildTemplate(
  p: Cursor,
  parts: readonly TemplatePart[],
  start: number,
  end: number,
): Expression {
  const only = parts[0];
  if (parts.length === 1 && only?.type === "interpolation") {
    const { expression } = only;
    return { kind: "template-wrap", source: p.source, start, end, expression };
  }
  return new TreeBuilder(p, parts).root(start, end);
}

class TreeBuilder {
  readonly #p: Cursor;
  readonly #parts: readonly TemplatePart[];
  #at = 0;

  constructor(p: Cursor, parts: readonly TemplatePart[]) {
    this.#p = p;
    this.#parts = parts;
  }

  root(start: number, end: number): Expression {
    const content: Expression[] = [];
    for (;;) {
      append(content, this.#content());
      const stray = this.#parts[this.#at];
      if (stray === undefined) return this.#combine(content, start, end);
      this.#unbalanced(stray, `There is no open directive that "${stray.type}" could belong to.`);
      this.#at++;
    }
  }

  /** Expressions up to the next else, endif or endfor that belongs to an enclosing directive. */
  #content(): Expression[] {
    const content: Expression[] = [];
    for (;;) {
      const part = this.#parts[this.#at];
      switch (part?.type) {
        case undefined:
        case "else":
        case "endif":
        case "endfor":
          return content;
        case "text":
          append(content, this.#text(part));
          break;
        case "interpolation":
          this.#at++;
          content.push(part.expression);
          break;
        case "if":
          this.#at++;
          content.push(this.#nested(part.start, () => this.#if(part)));
          break;
        case "for":
          this.#at++;
          content.push(this.#nested(part.start, () => this.#for(part)));
          break;
      }
    }
  }

  /** The text parts from here on as one literal; none where white space was all they had. */
  #text(first: TemplateTextPart): StringLiteral[] {
    const { source } = this.#p;
    let { value, end } = first;
    for (;;) {
      const next = this.#parts[++this.#at];
      if (next?.type !== "text") break;
      value += next.value;
      end = next.end;
    }
    return value === "" ? [] : [{ kind: "string", source, start: first.start, end, value }];
  }

  /** One directive deeper; directives count as nesting like brackets do. */
  #nested(start: number, build: () => Expression): Expression {
    const outer = this.#p.enter();
    if (outer === undefined) {
      this.#at = this.#parts.length;
      return this.#p.invalid(start);
    }
    const expression = build();
    this.#p.leave(outer);
    return expression;
  }

  #if(open: IfPart): Expression {
    const { source } = this.#p;
    const whenTrue = this.#combine(this.#content(), open.end, open.end);
    let next = this.#parts[this.#at];
    let whenFalse: Expression | undefined;
    if (next?.type === "else") {
      const elseEnd = next.end;
      this.#at++;
      whenFalse = this.#combine(this.#content(), elseEnd, elseEnd);
      next = this.#parts[this.#at];
    }
    if (next?.type !== "endif") return this.#unclosed(open, "if", next);
    this.#at++;
    whenFalse ??= { kind: "string", source, start: next.start, end: next.start, value: "" };
    const { start, condition } = open;
    return { kind: "conditional", source, start, end: next.end, condition, whenTrue, whenFalse };
  }

  #for(open: ForPart): Expression {
    const { source } = this.#p;
    const value = this.#combine(this.#content(), open.end, open.end);
    const next = this.#parts[this.#at];
    if (next?.type !== "endfor") return this.#unclosed(open, "for", next);
    this.#at++;
    const { start, keyName, valueName, collection } = open;
    const loop: For = {
      kind: "for",
      source,
      start,
      end: next.end,
      keyName,
      valueName,
      collection,
      key: undefined,
      value,
      condition: undefined,
      group: false,
    };
    return { kind: "template-join", source, start, end: next.end, loop };
  }

  /** The parts of a template or of one arm of a directive; the arms always make text. */
  #combine(parts: Expression[], start: number, end: number): Expression {
    const { source } = this.#p;
    const [first] = parts;
    if (first === undefined) return { kind: "string", source, start, end, value: "" };
    const from = Math.min(start, first.start);
    const to = Math.max(end, parts.at(-1)?.end ?? end);
    if (parts.length === 1 && first.kind === "string") return { ...first, start: from, end: to };
    return { kind: "template", source, start: from, end: to, parts };
  }

  #unclosed(
    open: IfPart | ForPart,
    name: "if" | "for",
    found: TemplatePart | undefined,
  ): Expression {
    this.#unbalanced(
      open,
      found === undefined
        ? `The directive "${name}" is never closed with "%{ end${name} }".`
        : `The directive "${name}" must be closed with "%{ end${name} }", but "${found.type}" comes first.`,
    );
    // A directive of the wrong kind most likely was meant to close this one.
    if (found !== undefined) this.#at++;
    return this.#p.invalid(open.start, open.end);
  }

  #unbalanced(part: TemplatePart, detail: string): void {
    this.#p.problems.error("LANG_TEMPLATE_UNBALANCED", detail, part.start, part.end);
  }
}
