import { expect, it } from "vitest";
import { fillConsole } from "../testing/fill-console.ts";
import {
  alikeSigns,
  DEFICIENCIES,
  enlargementProblems,
  movingElements,
  overflowingTexts,
  smallTargets,
} from "../testing/judge-appearance.ts";
import { isLoaded, startConsole, violationsOf } from "../testing/start-console.ts";
import { startNotesFunction } from "../testing/start-notes-function.ts";

/** With every action in the plan of the second word. */
const configuration = (word: string): string => `
resource "terraform_data" "updated" { input = "${word}" }
resource "terraform_data" "replaced" { triggers_replace = "${word}" }
resource "terraform_data" "${word}" {}
`;

/** Pages with every kind of badge, mark, bar and button: other pages have no others. */
const FORCED = new Set(["overview", "plan", "apply", "stack-graph", "stack-settings", "provider"]);

it("every page is for all eyes and fingers: enlarged, in the colors of the system, without motion", {
  timeout: 900_000,
}, async (context) => {
  const functions = await startNotesFunction();
  const started = await startConsole(context, { args: ["--functions", functions.table] });
  const { page, server } = started;
  const pages = await fillConsole(started);
  const open = async (name: string): Promise<void> => {
    await page.goto(`${server.url}/console/${pages[name]}`);
    await page.locator("h1, .problem").first().waitFor();
    await isLoaded(page);
  };
  /** Tables measure themselves after a change of the size: what they make of it is judged, or that they make nothing of it. */
  const resize = async (width: number, height: number): Promise<void> => {
    await page.setViewportSize({ width, height });
    const areReached = page.waitForFunction(
      '[...document.querySelectorAll(".table-scroll")].every((box) => box.scrollWidth <= box.clientWidth || box.hasAttribute("tabindex"))',
      undefined,
      { timeout: 10_000 },
    );
    await areReached.catch(() => undefined);
  };
  const found: string[] = [];
  for (const name of Object.keys(pages)) {
    const note = (texts: readonly string[], how = ""): void => {
      found.push(...texts.map((text) => `${name}${how} ${text}`));
    };
    await open(name);
    note(await enlargementProblems(page));
    await page.emulateMedia({ reducedMotion: "reduce" });
    note(await movingElements(page), ", without motion:");
    // High enough that the bar at the bottom lies over nothing, which a reader would scroll to.
    await resize(320, 4_000);
    note(await smallTargets(page), ":");
    note(await overflowingTexts(page), ", narrow:");
    await page.emulateMedia({ colorScheme: "dark" });
    note(await violationsOf(page), ", dark:");
    if (FORCED.has(name)) {
      await page.emulateMedia({ forcedColors: "active" });
      note(await violationsOf(page), ", colors of the system:");
    }
    await resize(1_440, 900);
    await page.emulateMedia({ forcedColors: "none", colorScheme: "light" });
    note(await violationsOf(page), ", light:");
  }
  expect(found).toEqual([]);
});

it("what has a color of its own has a sign and a word of its own, whatever colors an eye sees", {
  timeout: 480_000,
}, async (context) => {
  const { page, server, browser, request, waitFor } = await startConsole(context);
  await waitFor(await request(configuration("one"), { auto_apply: true }), "applied");
  await waitFor(await request('output "a" { value = file("missing") }', {}), "failed");
  const waiting = await request(configuration("two"), {});
  await waitFor(waiting, "awaiting_approval");
  const pages: Readonly<Record<string, string>> = { plan: `r/${waiting}`, runs: "runs" };
  const open = async (name: string, sign: string): Promise<void> => {
    await page.goto(`${server.url}/console/p/default/s/one/${pages[name]}`);
    await page.locator(sign).first().waitFor();
    await isLoaded(page);
  };
  const found: string[] = [];
  const sheet = await browser.context.newPage();
  const signs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    plan: {
      create: "details.change.create .sign",
      update: "details.change.update .sign",
      replace: "details.change.replace .sign",
      delete: "details.change.delete .sign",
    },
    runs: {
      waits: ".badge.attention .mark",
      failed: ".badge.bad .mark",
      applied: ".badge.good .mark",
    },
  };
  for (const [name, kinds] of Object.entries(signs)) {
    await open(name, Object.values(kinds)[0] ?? "main");
    const note = async (how: string, deficiency: (typeof DEFICIENCIES)[number]): Promise<void> => {
      const alike = await alikeSigns(page, sheet, kinds, deficiency);
      found.push(...alike.map((text) => `${name}, ${how}: ${text}`));
    };
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const deficiency of DEFICIENCIES) await note(colorScheme, deficiency);
    }
    await page.emulateMedia({ forcedColors: "active" });
    await note("colors of the system", "none");
    await page.emulateMedia({ forcedColors: "none" });
  }
  // And a word: no color says something that no text does.
  await open("plan", ".sign");
  const text = await page.locator("main").innerText();
  for (const word of [
    "will be created",
    "will be updated",
    "must be replaced",
    "will be destroyed",
  ]) {
    expect(text).toContain(word);
  }
  expect(found).toEqual([]);
});
