import type { HelpSection } from "./render-page.ts";

/** Words that so large a part of all sections has say nothing of one of them. */
const COMMON_SHARE = 0.25;
/** Longer words are digests and encoded values. */
const MAX_WORD = 40;

/**
 * The index of a search, cut into files so that a browser loads few of them: `sections.json` has the headings, `words-X.json` in which sections
 * the words that begin with X are, and `text-N.json` the texts of one page, which show what was found.
 */
export function searchIndex(sections: readonly HelpSection[]): ReadonlyMap<string, Buffer> {
  const pages = new Map<string, { readonly title: string; readonly texts: string[] }>();
  const heads: (readonly [page: number, anchor: string, heading: string])[] = [];
  const places = new Map<string, number[]>();
  for (const [at, { address, page: title, heading, text }] of sections.entries()) {
    const [path = "", anchor = ""] = address.split("#");
    let page = pages.get(path);
    if (page === undefined) {
      page = { title, texts: [] };
      pages.set(path, page);
    }
    page.texts.push(text);
    heads.push([pages.size - 1, anchor, heading]);
    for (const word of wordsOf(`${heading} ${text}`)) {
      const known = places.get(word);
      if (known === undefined) places.set(word, [at]);
      else known.push(at);
    }
  }
  const most = sections.length * COMMON_SHARE;
  const common = [...places].filter(([, { length }]) => length > most).map(([word]) => word);
  for (const word of common) places.delete(word);
  const shards = new Map<string, [word: string, steps: readonly number[]][]>();
  for (const [word, found] of [...places].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const shard = shards.get(shardOf(word)) ?? [];
    shards.set(shardOf(word), shard);
    // Differences are shorter than numbers of sections.
    shard.push([word, found.map((at, index) => at - (found[index - 1] ?? 0))]);
  }
  const files = new Map<string, Buffer>();
  const add = (name: string, content: unknown): void => {
    files.set(`search/${name}.json`, Buffer.from(JSON.stringify(content)));
  };
  add("sections", {
    pages: [...pages].map(([path, { title }]) => [path, title]),
    sections: heads,
    common: common.toSorted(),
  });
  for (const [name, shard] of shards) add(`words-${name}`, Object.fromEntries(shard));
  for (const [number, { texts }] of [...pages.values()].entries()) add(`text-${number}`, texts);
  return files;
}

/** The words of a text, and the parts of those that underscores join. The script of the pages cuts what is typed in the same way. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).flatMap((word) =>
    word.includes("_") ? [word, ...word.split("_")] : [word],
  );
  return new Set(words.filter(({ length }) => length > 1 && length <= MAX_WORD));
}

function shardOf(word: string): string {
  const [first = ""] = word;
  return /[a-z0-9]/.test(first) ? first : "other";
}
