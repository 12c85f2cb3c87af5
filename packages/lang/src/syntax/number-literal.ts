import type { Invalid, NumberLiteral } from "./ast.ts";
import type { Cursor } from "./cursor.ts";

const NUMBER = /^([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/;

/** What is wrong with the text of a number, or undefined. */
type NumberProblem = "malformed" | "out-of-range";

/**
 * Checks the text of a number against the language and against the bound on digits and exponent,
 * so that no number of a billion digits has to be built for the check.
 */
export function checkNumber(text: string, maxDigits: number): NumberProblem | undefined {
  const match = NUMBER.exec(text);
  if (match === null) return "malformed";
  const [, whole = "", fraction = "", exponent = "0"] = match;
  if (whole.length + fraction.length > maxDigits) return "out-of-range";
  return Math.abs(Number(exponent)) > maxDigits ? "out-of-range" : undefined;
}

/** Reads a number token. The value stays text; see {@link NumberLiteral}. */
export function parseNumber(p: Cursor): NumberLiteral | Invalid {
  const { source, start, end } = p;
  const text = p.text();
  const problem = checkNumber(text, p.limits.maxNumberDigits);
  if (problem !== undefined) {
    const shown = text.length > 40 ? `${text.slice(0, 40)}...` : text;
    if (problem === "malformed") p.error("LANG_NUMBER", `"${shown}" is not a number.`);
    else {
      p.error(
        "LANG_LIMIT_NUMBER",
        `A number may have at most ${p.limits.maxNumberDigits} digits, and no larger exponent.`,
      );
    }
    p.next();
    // The token is understood as far as its place goes: what follows can be read.
    p.panicking = false;
    return { kind: "invalid", source, start, end };
  }
  p.next();
  return { kind: "number", source, start, end, text };
}
