/** Text of another program, which may have anything: what moves the cursor or changes colors becomes visible instead. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (found) =>
    found === "\t" ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
