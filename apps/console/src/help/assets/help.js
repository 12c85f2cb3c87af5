// The search of the documentation: reads the index of all sections once, at the first letter.
"use strict";

const theme = localStorage.getItem("stackwright.theme");
if (theme !== null) document.documentElement.dataset.theme = theme;

const MOST = 30;
const form = document.getElementById("search");
const field = document.getElementById("words");
const found = document.getElementById("found");
const page = document.getElementById("page");
let reading;

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
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0) return show(undefined);
  try {
    reading ??= fetch("/help/search.json").then((answer) => {
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      return answer.json();
    });
    const sections = await reading;
    // A later letter has begun a search of its own.
    if (field.value !== text) return;
    const hits = sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MOST);
    show(
      hits.map(({ section }) => section),
      words,
    );
  } catch (error) {
    reading = undefined;
    found.replaceChildren(paragraph(`The search does not work: ${error.message}`));
    found.hidden = false;
  }
}

/** All words have to be there; a word of a heading says more than one of the text. */
function scoreOf(section, words) {
  const heading = section.heading.toLowerCase();
  const title = section.page.toLowerCase();
  const text = section.text.toLowerCase();
  let score = 0;
  for (const word of words) {
    const points =
      (heading.includes(word) ? 8 : 0) +
      (title.includes(word) ? 4 : 0) +
      (text.includes(word) ? 1 : 0);
    if (points === 0) return 0;
    score += points;
  }
  return score;
}

function show(sections, words) {
  found.hidden = sections === undefined;
  page.hidden = sections !== undefined;
  if (sections === undefined) return found.replaceChildren();
  if (sections.length === 0)
    return found.replaceChildren(paragraph("Nothing has all these words."));
  const list = document.createElement("ol");
  for (const section of sections) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = section.address;
    link.textContent =
      section.heading === section.page ? section.page : `${section.page}: ${section.heading}`;
    link.addEventListener("click", () => show(undefined));
    item.append(link, paragraph(around(section.text, words)));
    list.append(item);
  }
  found.replaceChildren(list);
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
