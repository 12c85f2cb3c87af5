import { LockSyntaxError, type LockToken, LockTokens, type Position } from "./lock-tokens.ts";

/** The value of an argument, as written. */
type LockValue = Position &
  (
    | { readonly kind: "string"; readonly text: string }
    | { readonly kind: "list"; readonly items: readonly (Position & { readonly text: string })[] }
  );

/** `name = value`. */
export interface LockArgument extends Position {
  readonly name: string;
  readonly value: LockValue;
}

/** `type "label" { ... }`. */
export interface LockBlock extends Position {
  readonly type: string;
  readonly label: Position & { readonly text: string };
  readonly arguments: readonly LockArgument[];
}

function describe(token: LockToken): string {
  if (token.kind === "newline") return "the end of the line";
  if (token.kind === "end") return "the end of the file";
  return JSON.stringify(token.text);
}

/**
 * Reads the blocks of a lock file. Throws {@link LockSyntaxError} at the first thing that lock
 * files do not have: arguments outside of blocks, values other than strings and lists of strings.
 */
export class LockBlockReader {
  readonly #tokens: LockTokens;
  /** The token that is not used up yet. */
  #token: LockToken;

  constructor(text: string) {
    this.#tokens = new LockTokens(text);
    this.#token = this.#tokens.next();
  }

  #advance(): LockToken {
    const token = this.#token;
    this.#token = this.#tokens.next();
    return token;
  }

  #is(kind: LockToken["kind"]): boolean {
    return this.#token.kind === kind;
  }

  #at(sign: string): boolean {
    return this.#token.kind === "sign" && this.#token.text === sign;
  }

  #expect(sign: string, purpose: string): LockToken {
    if (this.#at(sign)) return this.#advance();
    throw this.#unexpected(`"${sign}" ${purpose}`);
  }

  #unexpected(wanted: string): LockSyntaxError {
    return new LockSyntaxError(
      this.#token,
      `there must be ${wanted}, but there is ${describe(this.#token)}`,
    );
  }

  #skipNewlines(): void {
    while (this.#is("newline")) this.#advance();
  }

  #lineEnd(what: string): void {
    if (this.#is("newline")) this.#advance();
    else if (!this.#is("end")) throw this.#unexpected(`a line end behind the ${what}`);
  }

  /** All blocks in the order of the file. A block of type `module` comes without its content. */
  readAll(): LockBlock[] {
    const blocks: LockBlock[] = [];
    for (;;) {
      this.#skipNewlines();
      if (this.#is("end")) return blocks;
      blocks.push(this.#block());
    }
  }

  #block(): LockBlock {
    if (!this.#is("identifier")) throw this.#unexpected('a block such as provider "..."');
    const { line, column, text: type } = this.#advance();
    if (this.#at("=")) {
      throw new LockSyntaxError(
        { line, column },
        `the argument "${type}" cannot stand outside of a block`,
      );
    }
    if (type !== "provider" && type !== "module") {
      throw new LockSyntaxError(
        { line, column },
        `blocks of type "${type}" do not exist in lock files; there are only provider blocks`,
      );
    }
    if (!this.#is("string")) {
      throw this.#unexpected(type === "provider" ? "the quoted provider address" : "a quoted path");
    }
    const label = this.#advance();
    this.#expect("{", "behind the label");
    const found = type === "module" ? this.#skipBody() : this.#body();
    this.#lineEnd("block");
    return { line, column, type, label, arguments: found };
  }

  #body(): LockArgument[] {
    const found: LockArgument[] = [];
    if (!this.#is("newline")) {
      // On one line HCL allows one argument at most.
      if (!this.#at("}")) found.push(this.#argument());
      this.#expect("}", "to close the block on the line where it was opened");
      return found;
    }
    for (;;) {
      this.#skipNewlines();
      if (this.#at("}")) {
        this.#advance();
        return found;
      }
      found.push(this.#argument());
      this.#lineEnd("argument");
    }
  }

  /** Modules may be locked by programs of the future, so nothing is known of what stands in there. */
  #skipBody(): LockArgument[] {
    for (let depth = 1; depth > 0; ) {
      if (this.#is("end")) throw this.#unexpected('"}" to close the block');
      if (this.#at("{")) depth++;
      if (this.#at("}")) depth--;
      this.#advance();
    }
    return [];
  }

  #argument(): LockArgument {
    if (!this.#is("identifier")) throw this.#unexpected('an argument or "}"');
    const { line, column, text: name } = this.#advance();
    this.#expect("=", `behind "${name}"`);
    return { line, column, name, value: this.#value(name) };
  }

  #value(name: string): LockValue {
    if (this.#is("string")) {
      const { line, column, text } = this.#advance();
      return { kind: "string", line, column, text };
    }
    if (!this.#at("[")) throw this.#unexpected(`a quoted string or a list behind "${name} ="`);
    const { line, column } = this.#advance();
    const items: (Position & { readonly text: string })[] = [];
    for (;;) {
      this.#skipNewlines();
      if (this.#at("]")) break;
      if (!this.#is("string")) throw this.#unexpected('a quoted string or "]"');
      items.push(this.#advance());
      this.#skipNewlines();
      if (this.#at("]")) break;
      this.#expect(",", "between the strings of the list");
    }
    this.#advance();
    return { kind: "list", line, column, items };
  }
}
