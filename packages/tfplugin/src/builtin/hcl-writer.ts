import type { Value } from "@stackwright/cty";

/**
 * One line of a written expression.
 *
 * `assign` is set where the line gives a name a value that ends on the same line: the equals signs of neighbouring
 * lines of that kind are aligned. `opened` is how many brackets the line opens more than it closes.
 */
interface Line {
  lead: string;
  assign: string | undefined;
  opened: number;
}

/**
 * A value as an expression of the template language, laid out as the formatter of the language does: objects over
 * several lines, everything else on one, and indented by brackets, not by nesting (`[{` opens one level).
 *
 * The value is wholly known, carries no marks and holds no capsules. What is read back has the same content, but not
 * the same type: lists become tuples, maps become objects. Source: the native syntax of HCL as Terraform writes it.
 */
export function writeExpression(value: Value): string {
  const lines = new Lines();
  lines.value(value);
  return lines.text();
}

/** A line `name = value` for each attribute of an object or map; the names are identifiers. */
export function writeAttributes(value: Value): string {
  const lines = new Lines();
  for (const [name, content] of value.entries()) lines.attribute(name, content);
  return lines.text();
}

class Lines {
  readonly #lines: Line[] = [{ lead: "", assign: undefined, opened: 0 }];

  value(value: Value): void {
    if (value.isNull) {
      this.#add("null");
      return;
    }
    const { kind } = value.type;
    if (kind === "object" || kind === "map") this.#object(value);
    else if (kind === "list" || kind === "set" || kind === "tuple") this.#sequence(value);
    else this.#add(scalar(value));
  }

  attribute(name: string, value: Value): void {
    const start = this.#lines.length - 1;
    this.#add(name);
    this.#assign();
    this.value(value);
    this.#settleAssignment(start);
    this.#break();
  }

  text(): string {
    this.#align();
    let level: number[] = [];
    const written = this.#lines.map(({ lead, assign = "", opened }) => {
      level = opened < 0 ? closed(level, -opened) : level;
      const line = lead === "" ? "" : `${"  ".repeat(level.length)}${lead}${assign}`;
      if (opened > 0) level.push(opened);
      return line;
    });
    return written.join("\n");
  }

  #object(value: Value): void {
    this.#open("{");
    if (value.size > 0) this.#break();
    for (const [name, content] of value.entries()) {
      this.attribute(isIdentifier(name) ? name : quoted(name), content);
    }
    this.#close("}");
  }

  #sequence(value: Value): void {
    this.#open("[");
    for (const [position, element] of value.elements().entries()) {
      if (position > 0) this.#add(", ");
      this.value(element);
    }
    this.#close("]");
  }

  #current(): Line {
    const line = this.#lines.at(-1);
    if (line === undefined) throw new TypeError("there is always a line");
    return line;
  }

  #add(text: string): void {
    const line = this.#current();
    if (line.assign === undefined) line.lead += text;
    else line.assign += text;
  }

  #assign(): void {
    this.#current().assign = " = ";
  }

  /** An assignment that did not end on its line is not aligned with others. */
  #settleAssignment(start: number): void {
    const line = this.#lines[start];
    if (line === undefined || line.assign === undefined || line.opened === 0) return;
    line.lead += line.assign;
    line.assign = undefined;
  }

  #open(bracket: string): void {
    this.#add(bracket);
    this.#current().opened += 1;
  }

  #close(bracket: string): void {
    this.#add(bracket);
    this.#current().opened -= 1;
  }

  #break(): void {
    this.#lines.push({ lead: "", assign: undefined, opened: 0 });
  }

  #align(): void {
    let chain: Line[] = [];
    const close = () => {
      const widest = Math.max(0, ...chain.map(({ lead }) => columnsOf(lead)));
      for (const line of chain) line.lead = line.lead + " ".repeat(widest - columnsOf(line.lead));
      chain = [];
    };
    for (const line of this.#lines) {
      if (line.assign === undefined) close();
      else chain.push(line);
    }
    close();
  }
}

function scalar(value: Value): string {
  const { kind } = value.type;
  if (kind === "string") return quoted(value.asString());
  if (kind === "bool") return String(value.asBoolean());
  if (kind === "number" && !value.asBigFloat().isInfinite) return value.asBigFloat().text("f");
  throw new TypeError(`this ${kind} cannot be written as an expression`);
}

/** The levels that are left when so many brackets close; each level remembers how many opened it. */
function closed(levels: readonly number[], count: number): number[] {
  const left = [...levels];
  for (let rest = count; rest > 0; ) {
    const innermost = left.pop();
    if (innermost === undefined) break;
    if (innermost > rest) left.push(innermost - rest);
    rest -= innermost;
  }
  return left;
}

/** Made when it is first needed: that takes as long as a tenth of a start. */
let segmenter: Intl.Segmenter | undefined;

function columnsOf(text: string): number {
  segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
  let columns = 0;
  for (const _cluster of segmenter.segment(text)) columns += 1;
  return columns;
}

const IDENTIFIER = /^[_\p{ID_Start}][-\p{ID_Continue}]*$/u;

/** Whether the language takes the text as a name without quotes. */
export function isIdentifier(text: string): boolean {
  return IDENTIFIER.test(text);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
};

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A string literal. What begins an interpolation is doubled, what cannot be printed is escaped. */
function quoted(text: string): string {
  let written = '"';
  for (const character of text) {
    written += ESCAPES[character] ?? (PRINTABLE.test(character) ? character : escaped(character));
  }
  return `${written.replaceAll(/([$%])\{/gu, "$1$1{")}"`;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x1_00_00
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}
