/** Why a text cannot be split into arguments. */
export class SplitError extends Error {
  override readonly name = "SplitError";
}

/** Characters that would mean something to a shell, and nothing here. */
const SHELL = new Set([";", "&", "|", "<", ">"]);

/**
 * Splits a text into arguments as a shell does with quotes and backslashes: `'...'` is taken as it is, in `"..."` and outside a
 * backslash takes the next character as it is. There are no variables and no commands in it. `SplitError` for a quote
 * without an end, and for operators of a shell outside of quotes.
 */
export function splitArguments(text: string): string[] {
  const found: string[] = [];
  let word: string | undefined;
  let quote: "'" | '"' | undefined;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\" && quote !== "'") {
      at++;
      if (at >= text.length) throw new SplitError("a backslash at the end");
      word = (word ?? "") + text.charAt(at);
    } else if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word = (word ?? "") + character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else if (SHELL.has(character)) {
      throw new SplitError(`"${character}" outside of quotes`);
    } else word = (word ?? "") + character;
  }
  if (quote !== undefined) throw new SplitError(`a quote (${quote}) without an end`);
  if (word !== undefined) found.push(word);
  return found;
}
