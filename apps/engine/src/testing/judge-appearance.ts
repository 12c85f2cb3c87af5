import type { CDPSession, Page } from "playwright-core";
import { comparePictures } from "./compare-pictures.ts";

/** How eyes see colors that do not see all of them, as the browser draws it. */
export const DEFICIENCIES = [
  "none",
  "protanopia",
  "deuteranopia",
  "tritanopia",
  "achromatopsia",
] as const;

/** In CSS pixels, in both directions (WCAG 2.2, 2.5.8). */
const MIN_TARGET = 24;
/** A page that is enlarged four times on a screen with 1280 × 1024. */
const ENLARGED = { width: 320, height: 256 };

/** What can be activated and is too small for a finger. Links within a sentence may be as high as its lines. */
export async function smallTargets(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(() => {
    const wanted = "a[href], button, input, select, textarea, summary, [role=button], [role=option], [role=tab], [role=treeitem]";
    const isHidden = (one) => one.closest("[hidden], [aria-hidden=true], details:not([open]) > :not(summary)") !== null;
    return [...document.querySelectorAll(wanted)].flatMap((one) => {
      const { display, visibility } = getComputedStyle(one);
      if (isHidden(one) || visibility === "hidden" || display === "inline") return [];
      // The label of a box is a part of it.
      const whole = one.matches("[type=checkbox], [type=radio]") ? (one.closest("label") ?? one) : one;
      const { width, height } = whole.getBoundingClientRect();
      if (width === 0 || height === 0) return [];
      // A link that is shown by a focus alone is clipped until then.
      if (width <= 1 || height <= 1) return [];
      if (Math.min(width, height) >= ${MIN_TARGET} - 0.5) return [];
      const name = (one.textContent || one.getAttribute("aria-label") || one.tagName).trim().slice(0, 40);
      return [\`\${one.tagName.toLowerCase()}.\${one.className} "\${name}" is \${Math.round(width)} × \${Math.round(height)} pixels large\`];
    });
  })()`);
}

/** Links, buttons and badges whose text is wider than they are, and lies on what is beside them. */
export async function overflowingTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate<
    string[]
  >(`[...document.querySelectorAll("a, button, .badge")].flatMap((one) => {
    const { overflowX } = getComputedStyle(one);
    // Those within a line have no width of their own.
    if (one.clientWidth === 0 || overflowX !== "visible") return [];
    const more = one.scrollWidth - one.clientWidth;
    return more > 1 ? [\`"\${one.textContent}" is \${more} pixels wider than its place\`] : [];
  })`);
}

/** What of a page is wrong where it is enlarged, or its text alone. */
export async function enlargementProblems(page: Page): Promise<readonly string[]> {
  const before = page.viewportSize();
  const found: string[] = [];
  const wide = async (): Promise<number> =>
    page.evaluate<number>("document.documentElement.scrollWidth");
  await page.setViewportSize(ENLARGED);
  const width = await wide();
  if (width > ENLARGED.width) found.push(`is ${width} pixels wide at 400 %`);
  // What stays in place while the page is scrolled leaves room for the page.
  const covered = await page.evaluate<number>(`(() => {
    scrollTo(0, 200);
    const fixed = [...document.querySelectorAll("body *")].filter((one) => {
      const { position } = getComputedStyle(one);
      return position === "fixed" || position === "sticky";
    });
    const heights = fixed.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) =>
      Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0)));
    scrollTo(0, 0);
    return heights.reduce((sum, height) => sum + height, 0);
  })()`);
  if (covered > ENLARGED.height / 2) found.push(`has ${covered} pixels covered at 400 %`);
  await page.setViewportSize({ width: 1280, height: 1024 });
  await page.evaluate("document.documentElement.style.fontSize = '200%'");
  const large = await wide();
  if (large > 1280) found.push(`is ${large} pixels wide with text of 200 %`);
  await page.evaluate("document.documentElement.style.fontSize = ''");
  if (before !== null) await page.setViewportSize(before);
  return found;
}

/** What moves although its user asked for less motion. */
export async function movingElements(page: Page): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(() => {
    const isLong = (text) => text.split(",").some((one) => Number.parseFloat(one) > 0.01);
    return [...document.querySelectorAll("*")].flatMap((one) =>
      [undefined, "::before", "::after"].flatMap((part) => {
        const style = getComputedStyle(one, part);
        const moves = isLong(style.transitionDuration) ||
          (style.animationName !== "none" && isLong(style.animationDuration));
        return moves ? [\`\${one.tagName.toLowerCase()}.\${one.className}\${part ?? ""}\`] : [];
      }));
  })()`);
}

/** Of things that have colors of their own: what selects one of each. */
type Kinds = Readonly<Record<string, string>>;

/** Kinds whose signs look alike for eyes that see these colors, by pictures of the signs. */
export async function alikeSigns(
  page: Page,
  sheet: Page,
  kinds: Kinds,
  deficiency: (typeof DEFICIENCIES)[number],
): Promise<readonly string[]> {
  const session: CDPSession = await page.context().newCDPSession(page);
  try {
    await session.send("Emulation.setEmulatedVisionDeficiency", { type: deficiency });
    const pictures: (readonly [kind: string, picture: Buffer])[] = [];
    for (const [kind, selector] of Object.entries(kinds)) {
      pictures.push([kind, await page.locator(selector).first().screenshot()]);
    }
    const alike: string[] = [];
    for (const [index, [one, left]] of pictures.entries()) {
      for (const [other, right] of pictures.slice(index + 1)) {
        const { share } = await comparePictures(sheet, left, right);
        if (share < 0.005) alike.push(`${one} looks like ${other} with ${deficiency}`);
      }
    }
    await session.send("Emulation.setEmulatedVisionDeficiency", { type: "none" });
    return alike;
  } finally {
    await session.detach();
  }
}
