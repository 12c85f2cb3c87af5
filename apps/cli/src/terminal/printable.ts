/**
 * Text of another program, which may have anything: what moves the cursor, changes colors or shows characters in another order than they
 * are in becomes visible instead.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, (found) =>
    found === "\t" ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same for a text of several lines, which stay apart. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
