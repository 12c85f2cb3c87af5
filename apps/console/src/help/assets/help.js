// The search of the documentation: reads the headings at the first letter, and of the index only what has the words that are typed.
"use strict";

const theme = localStorage.getItem("stackwright.theme");
if (theme !== null) document.documentElement.dataset.theme = theme;

const MOST = 30;
/** So many of the first hits show what stands around the words. */
const MOST_TEXTS = 8;
const form = document.getElementById("search");
const field = document.getElementById("words");
const found = document.getElementById("found");
const page = document.getElementById("page");
const files = new Map();

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", () => void search());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape") {
    field.value = "";
    show(undefined);
  }
});

async function search() {
  const text = field.value;
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  if (words.length === 0) {
    show(undefined);
    return;
  }
  try {
    const index = await read("sections");
    // Words that are nearly everywhere say nothing beside others; a single letter is the beginning of one that is being typed.
    const telling = words.filter((word) => word.length > 1 && !index.common.includes(word));
    const places = await Promise.all(telling.map(placesOf));
    // A later letter has begun a search of its own.
    if (field.value !== text) return;
    const hits = index.sections
      .map((_, at) => ({
        at,
        score: telling.length === 0 ? 0 : scoreOf(index, at, telling, places),
      }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST);
    const items = show(hits.map(({ at }) => sectionAt(index, at)));
    await showTexts(index, hits, items, telling);
  } catch (error) {
    found.replaceChildren(paragraph(`The search does not work: ${error.message}`));
    found.hidden = false;
  }
}

/** A file of the index, read once. */
function read(name) {
  const known = files.get(name);
  if (known !== undefined) return known;
  const reading = fetch(`/help/search/${name}.json`).then((answer) => {
    // No word begins with that letter.
    if (answer.status === 404 && name.startsWith("words-")) return {};
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  });
  files.set(name, reading);
  reading.catch(() => files.delete(name));
  return reading;
}

/** The sections that have a word which begins with the given one. */
async function placesOf(word) {
  const shard = await read(`words-${/^[a-z0-9]/.test(word) ? word[0] : "other"}`);
  const places = new Set();
  for (const [name, steps] of Object.entries(shard)) {
    if (!name.startsWith(word)) continue;
    let at = 0;
    for (const step of steps) {
      at += step;
      places.add(at);
    }
  }
  return places;
}

function sectionAt({ pages, sections }, at) {
  const [number, anchor, heading] = sections[at];
  const [address, title] = pages[number];
  return { number, title, heading, address: anchor === "" ? address : `${address}#${anchor}` };
}

/** All words have to be there; a word of a heading says more than one of the text. */
function scoreOf(index, at, words, places) {
  const section = sectionAt(index, at);
  const heading = section.heading.toLowerCase();
  const title = section.title.toLowerCase();
  let score = 0;
  for (const [number, word] of words.entries()) {
    const points =
      (heading.includes(word) ? 8 : 0) +
      (title.includes(word) ? 4 : 0) +
      (places[number].has(at) ? 1 : 0);
    if (points === 0) return 0;
    score += points;
  }
  return score;
}

function show(sections) {
  found.hidden = sections === undefined;
  page.hidden = sections !== undefined;
  if (sections === undefined) {
    found.replaceChildren();
    return [];
  }
  if (sections.length === 0) {
    found.replaceChildren(paragraph("Nothing has all these words."));
    return [];
  }
  const list = document.createElement("ol");
  const items = sections.map(({ address, title, heading }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = address;
    link.textContent = heading === title ? title : `${title}: ${heading}`;
    link.addEventListener("click", () => show(undefined));
    item.append(link);
    return item;
  });
  list.append(...items);
  found.replaceChildren(list);
  return items;
}

/** Adds to the first hits what stands around the words. */
async function showTexts(index, hits, items, words) {
  await Promise.all(
    hits.slice(0, MOST_TEXTS).map(async ({ at }, number) => {
      const { number: of } = sectionAt(index, at);
      const texts = await read(`text-${of}`);
      const first = index.sections.findIndex(([other]) => other === of);
      items[number].append(paragraph(around(texts[at - first], words)));
    }),
  );
}

/** What stands around the first word that the text has. */
function around(text, words) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...(places.length === 0 ? [0] : places)) - 60);
  const end = Math.min(text.length, start + 220);
  return `${start > 0 ? "... " : ""}${text.slice(start, end)}${end < text.length ? " ..." : ""}`;
}

function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}
