import type { Page } from "playwright-core";

/**
 * What differs between two servers with the same content, and what is shown in its place: identifiers, digests, times, durations, and the
 * port of the server.
 */
const REPLACED: readonly (readonly [pattern: string, text: string])[] = [
  ["\\b[0-9A-HJKMNP-TV-Z]{26}\\b", "01K0STEADY0000000000000000"],
  [
    "\\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\\b",
    "00000000-0000-4000-8000-000000000000",
  ],
  ["\\btoken-[0-9a-f]{12}\\b", "token-000000000000"],
  ["\\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{12,64}\\b", "000000000000"],
  ["\\bSW[0-9A-F]{18}\\b", "SW000000000000000000"],
  // Of a published key.
  ["(?<![\\w-])(?=[\\w-]*[0-9])(?=[\\w-]*[A-Z])[\\w-]{43}(?![\\w-])", "0".repeat(43)],
  ["127\\.0\\.0\\.1:[0-9]+", "127.0.0.1:7400"],
  ["\\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "2026-01-01T00:00:00Z"],
  ["\\b[0-9]{4}-[0-9]{2}-[0-9]{2}\\b", "2026-01-01"],
  ["\\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?: [AP]M)?", "12:00:00"],
  ["\\b[0-9]+(?:\\.[0-9]+)? (?:ms|s|min|m [0-9]+ s)\\b", "1.0 s"],
  ["just now|in a moment|[0-9]+ (?:sec|min|hr)\\. ago", "just now"],
  ["in [0-9]+ (?:sec|min|hr)\\.", "in 1 hr."],
];

/** A text in which nothing differs between two servers with the same content. */
export function steadyText(text: string): string {
  return REPLACED.reduce(
    (steady, [pattern, shown]) => steady.replaceAll(new RegExp(pattern, "g"), shown),
    text,
  );
}

/** Shows what differs between two runs of a test as if it did not. The page may draw it anew when it changes. */
export async function steadyTexts(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const replaced = ${JSON.stringify(REPLACED)}.map(([pattern, text]) => [new RegExp(pattern, "g"), text]);
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      let value = node.nodeValue;
      for (const [pattern, text] of replaced) value = value.replace(pattern, text);
      if (value !== node.nodeValue) node.nodeValue = value;
    }
    for (const time of document.querySelectorAll("time")) time.textContent = "just now";
  })()`);
}
