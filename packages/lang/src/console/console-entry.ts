import { openSource } from "../syntax/open-source.ts";
import { scan } from "../syntax/scanner.ts";
import { TokenKind } from "../syntax/token.ts";

const OPENING: ReadonlySet<number> = new Set([
  TokenKind.BraceOpen,
  TokenKind.BracketOpen,
  TokenKind.ParenOpen,
  TokenKind.InterpolationOpen,
  TokenKind.DirectiveOpen,
  TokenKind.HeredocOpen,
]);

const CLOSING: ReadonlySet<number> = new Set([
  TokenKind.BraceClose,
  TokenKind.BracketClose,
  TokenKind.ParenClose,
  TokenKind.SequenceClose,
  TokenKind.HeredocClose,
]);

/**
 * Whether an expression continues on the next line: a bracket, a template sequence or a heredoc is open at its end. An empty
 * last line ends it anyway, except in a heredoc. A closing bracket without its opening one ends it, too: what follows
 * cannot make it valid.
 */
export function expressionContinues(text: string): boolean {
  // With the end of the last line: that opens a heredoc and closes one.
  const input = { name: "<console-input>", text: `${text}\n` };
  const { source, problems, limits } = openSource(input, undefined);
  const tokens = scan(source, "normal", problems, limits);
  const open: number[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const kind = tokens.kind(index);
    if (OPENING.has(kind)) open.push(kind);
    else if (CLOSING.has(kind) && open.pop() === undefined) return false;
  }
  if (open.includes(TokenKind.HeredocOpen)) return true;
  const lastLine = text.slice(text.lastIndexOf("\n") + 1);
  return open.length > 0 && lastLine.trim() !== "";
}

/** Joins lines to expressions. What is incomplete at the end of the lines is an expression as well. */
export async function* consoleEntries(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string, void, undefined> {
  let entry: string | undefined;
  for await (const line of lines) {
    entry = entry === undefined ? line : `${entry}\n${line}`;
    if (expressionContinues(entry)) continue;
    yield entry;
    entry = undefined;
  }
  if (entry !== undefined) yield entry;
}
