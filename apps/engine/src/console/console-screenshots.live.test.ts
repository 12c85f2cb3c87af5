import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, it } from "vitest";
import { comparePictures } from "../testing/compare-pictures.ts";
import { fillConsole } from "../testing/fill-console.ts";
import { isLoaded, startConsole } from "../testing/start-console.ts";
import { startNotesFunction } from "../testing/start-notes-function.ts";
import { steadyText, steadyTexts } from "../testing/steady-text.ts";

// CONSOLE_SCREENSHOTS names a folder for new pictures and outlines, which are looked at and then kept in docs/screenshots.
// Without it the pages are compared with what is kept there.

const KEPT = join(import.meta.dirname, "../../../../docs/screenshots");
const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const REFERENCES = "references.json";
/** Pictures that are kept of the pages that have any: the others are in their outlines. */
const PICTURES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      "overview",
      "notifications",
      "resources",
      "stack-graph",
      "outputs",
      "history",
      "stack-settings",
      "plan",
      "apply",
      "frozen",
      "graph",
      "module",
      "policies",
      "policy",
      "provider",
      "identity",
      "access",
      "live-view",
    ].map((name) => [name, ["light-1440", "dark-390"]]),
  ),
  project: ["light-1440", "dark-1440", "light-390", "dark-390"],
  registry: ["light-1440", "dark-1440", "light-390", "dark-390"],
};
/** Of the pixels of a picture. */
const MAX_SHARE = 0.001;
/** What these show differs from one run to the next: positions by time, counters, and lists of what happened meanwhile. */
const UNSTEADY = new Set(["apply", "log", "details", "audit", "live-view", "access", "provider"]);
/** Where the outline of a page ends: what explains the object that changed last is another each time. */
const LAST_LINES: Readonly<Record<string, string>> = {
  "live-view": '- heading "Why did an object change?" [level=2]',
};

interface References {
  /** Other versions, and other fonts, draw other pictures. */
  readonly browser: string;
  /** What each page has, by its name: headings, tables, buttons. */
  readonly outlines: Readonly<Record<string, readonly string[]>>;
}

/** What is said of a page whatever it is drawn with. */
function outlineOf(snapshot: string): readonly string[] {
  return (
    snapshot
      .split("\n")
      .filter((line) =>
        /^\s*- (?:heading|table|columnheader|button|tab|region|status|img)\b/.test(line),
      )
      .map((line) => line.trim())
      // What a status without a text of its own holds comes and goes while a page is loaded.
      .filter((line) => line !== "- status:")
      .filter((line, index, all) => line !== all[index - 1])
  );
}

it("pages look as they did when they were last looked at", {
  timeout: 900_000,
}, async (context) => {
  const functions = await startNotesFunction();
  const started = await startConsole(context, { args: ["--functions", functions.table] });
  const { page, server, browser } = started;
  const pages = await fillConsole(started);
  const sheet = await browser.context.newPage();
  const fonts = await page.evaluate<string>(`(() => {
    const context = document.createElement("canvas").getContext("2d");
    const widthOf = (family) => {
      context.font = "40px " + family;
      return context.measureText("Stackwright: 0123456789 ~ -> ✓").width.toFixed(2);
    };
    const { fontFamily } = getComputedStyle(document.body);
    return [widthOf(fontFamily), widthOf("monospace")].join(" ");
  })()`);
  const [version = ""] = (browser.context.browser()?.version() ?? "").split(".");
  const drawn = `Chromium ${version}, texts of ${fonts}`;
  const kept = await readFile(join(KEPT, REFERENCES), "utf8")
    .then((text) => JSON.parse(text) as References)
    .catch((): References => ({ browser: "", outlines: {} }));
  const isDrawnAlike = drawn === kept.browser;
  if (FOLDER !== "") await mkdir(FOLDER, { recursive: true });
  else if (!isDrawnAlike) {
    process.stdout.write(`pictures are of ${kept.browser}, this is ${drawn}: outlines alone\n`);
  }
  const outlines: Record<string, readonly string[]> = {};
  const found: string[] = [];
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(`${server.url}/console/${path}`);
    await page.locator("h1, .problem").first().waitFor();
    await isLoaded(page);
    for (const width of [1440, 390] as const) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const kind = `${colorScheme}-${width}`;
        if (PICTURES[name]?.includes(kind) !== true) continue;
        const file = `${name}-${kind}.png`;
        if (
          FOLDER === "" &&
          (!isDrawnAlike || UNSTEADY.has(name) || !existsSync(join(KEPT, file)))
        ) {
          continue;
        }
        const take = async (): Promise<Buffer> => {
          await steadyTexts(page);
          return page.screenshot({ animations: "disabled", caret: "hide" });
        };
        if (FOLDER !== "") {
          await writeFile(join(FOLDER, file), await take());
          continue;
        }
        const wanted = await readFile(join(KEPT, file));
        // What the page has drawn anew meanwhile says again what differs.
        let share = 1;
        for (let attempt = 0; attempt < 4 && share > MAX_SHARE; attempt += 1) {
          ({ share } = await comparePictures(sheet, await take(), wanted));
        }
        if (share > MAX_SHARE) found.push(`${file}: ${(share * 100).toFixed(2)} % differ`);
      }
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (wide > width) found.push(`${name} is ${wide} pixels wide on a screen with ${width}`);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const outline = outlineOf(steadyText(await page.locator("main").ariaSnapshot()));
    const last = outline.indexOf(LAST_LINES[name] ?? "");
    outlines[name] = last === -1 ? outline : outline.slice(0, last + 1);
  }
  if (FOLDER === "") expect(outlines).toEqual(kept.outlines);
  else {
    const references: References = { browser: drawn, outlines };
    await writeFile(join(FOLDER, REFERENCES), `${JSON.stringify(references, undefined, 2)}\n`);
  }
  expect(found).toEqual([]);
  // A project that does not exist is the only failure.
  const errors = browser.misbehavior.errors.filter((text) => !/404/.test(text));
  expect({ ...browser.misbehavior, errors }).toEqual({ errors: [], violations: [], strangers: [] });
});
