import type { Expression } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { TokenKind } from "./token.ts";

/** The names of a loop: `v in` or `k, v in`. Undefined where they are wrong; it is reported. */
export function parseLoopNames(
  p: Cursor,
  report: (detail: string) => void,
): { keyName: string | undefined; valueName: string } | undefined {
  if (!p.at(TokenKind.Identifier)) {
    report('The name of a variable is expected after "for".');
    return undefined;
  }
  let keyName: string | undefined;
  let valueName = p.text();
  p.next();
  if (p.at(TokenKind.Comma)) {
    p.next();
    if (!p.at(TokenKind.Identifier)) {
      report("The name of the variable for the value is expected after the comma.");
      return undefined;
    }
    keyName = valueName;
    valueName = p.text();
    p.next();
  }
  if (!p.isWord("in")) {
    report('The word "in" is expected after the names of the loop.');
    return undefined;
  }
  p.next();
  return { keyName, valueName };
}

/**
 * The rest of `[for ...]` or `{for ...}` from the word `for` on. Line endings do not count; the
 * caller restores them.
 */
export function parseFor(p: Cursor, start: number, close: TokenKind): Expression {
  const report = (detail: string): void => {
    p.error("LANG_FOR", detail, p.start, p.end, { contextStart: start });
  };
  const giveUp = (): Expression => {
    p.recoverTo(close);
    return p.invalid(start);
  };
  p.next();
  const names = parseLoopNames(p, report);
  if (names === undefined) return giveUp();
  const collection = p.grammar.expression(p);
  if (p.panicking) return giveUp();
  if (!p.at(TokenKind.Colon)) {
    report("A colon is expected after the collection of the loop.");
    return giveUp();
  }
  p.next();
  let key: Expression | undefined;
  let value = p.grammar.expression(p);
  if (p.panicking) return giveUp();
  if (p.at(TokenKind.FatArrow)) {
    p.next();
    key = value;
    value = p.grammar.expression(p);
    if (p.panicking) return giveUp();
  }
  let group = false;
  const ellipsisStart = p.start;
  if (p.at(TokenKind.Ellipsis)) {
    group = true;
    p.next();
  }
  let condition: Expression | undefined;
  if (p.isWord("if")) {
    p.next();
    condition = p.grammar.expression(p);
    if (p.panicking) return giveUp();
  }
  if (p.at(close)) {
    checkForm(p, close, { key, value, group, ellipsisStart, start });
    p.next();
  } else {
    report("The loop must end here: there is more than a loop can have.");
    p.recoverTo(close);
  }
  const { source, previousEnd: end } = p;
  return { kind: "for", source, start, end, ...names, collection, key, value, condition, group };
}

/** Keys and grouping belong to the object form, and that form must have a key. */
function checkForm(
  p: Cursor,
  close: TokenKind,
  loop: {
    key: Expression | undefined;
    value: Expression;
    group: boolean;
    ellipsisStart: number;
    start: number;
  },
): void {
  const context = { contextStart: loop.start };
  const { problems } = p;
  if (close === TokenKind.BraceClose) {
    if (loop.key !== undefined) return;
    const detail = 'A loop that makes an object needs a key: "{for v in c : key => value}".';
    problems.error("LANG_FOR", detail, loop.value.start, loop.value.end, context);
    return;
  }
  if (loop.key !== undefined) {
    const detail = "A loop that makes a tuple cannot have a key; use braces to make an object.";
    problems.error("LANG_FOR", detail, loop.key.start, loop.key.end, context);
  }
  if (loop.group) {
    const detail = 'Grouping with "..." is only possible in a loop that makes an object.';
    problems.error("LANG_FOR", detail, loop.ellipsisStart, loop.ellipsisStart + 3, context);
  }
}
