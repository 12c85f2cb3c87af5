import type { Page } from "playwright-core";

/** What has the focus, and why a user could not see that. */
export interface FocusStop {
  readonly role: string;
  readonly name: string;
  readonly problems: readonly string[];
}

/** Undefined where nothing on the page has the focus. */
export async function judgeFocus(page: Page): Promise<FocusStop | undefined> {
  const found = await page.evaluate<FocusStop | null>(
    // Once what a focus moves has been moved.
    `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve((${IN_PAGE})()), 0)))`,
  );
  return found ?? undefined;
}

/** Runs in the page: how the focus looks is known to the browser alone. */
const IN_PAGE = String.raw`() => {
  // Of a line beside what it is to be told apart from (WCAG 2.2, 1.4.11).
  const MIN_CONTRAST = 3;
  const one = document.activeElement;
  if (one === null || one === document.body) return null;
  const found = [];
  const nameOf = (box) => box.tagName.toLowerCase() + "." + box.className;

  const channels = (color) => {
    const [red = 0, green = 0, blue = 0, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return [red, green, blue, alpha];
  };
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((channel) => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrastOf = (color, ground) => {
    const [low, high] = [luminance(color), luminance(ground)].sort((a, b) => a - b);
    return Math.round(((high + 0.05) / (low + 0.05)) * 10) / 10;
  };
  const groundOf = (element) => {
    for (let box = element; box !== null; box = box.parentElement) {
      const { backgroundColor } = getComputedStyle(box);
      if (channels(backgroundColor)[3] === 1) return backgroundColor;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };

  const judgeRing = (element, style, width) => {
    if (style.outlineStyle === "none" || width < 2) return void found.push("has no ring");
    const isInside = Number.parseFloat(style.outlineOffset) < 0;
    const ground = groundOf(isInside ? element : element.parentElement);
    const contrast = contrastOf(style.outlineColor, ground);
    if (contrast < MIN_CONTRAST) found.push("has a ring with a contrast of " + contrast);
  };
  // What scrolls, or hides what is too much, takes away what is beyond its edge.
  const judgeCuts = (element, whole, reach) => {
    for (let box = element.parentElement; box !== document.body; box = box.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(box);
      const outer = box.getBoundingClientRect();
      const [left, top] = [outer.left + box.clientLeft, outer.top + box.clientTop];
      const cuts = {};
      if (overflowX !== "visible") {
        cuts.left = left - (whole.left - reach);
        cuts.right = whole.right + reach - (left + box.clientWidth);
      }
      if (overflowY !== "visible") {
        cuts.top = top - (whole.top - reach);
        cuts.bottom = whole.bottom + reach - (top + box.clientHeight);
      }
      for (const [side, by] of Object.entries(cuts)) {
        if (by > 0.5) found.push("is cut by " + by.toFixed(1) + " pixels at the " + side + " of " + nameOf(box));
      }
      if (box.matches("dialog")) break;
    }
  };
  const judgeScreen = (whole, reach) => {
    if (whole.width < 1 || whole.height < 1) found.push("has no size");
    const cuts = { left: -whole.left, right: whole.right - innerWidth };
    // What is higher than the screen is seen in part.
    if (whole.height + 2 * reach <= innerHeight) {
      cuts.top = -whole.top;
      cuts.bottom = whole.bottom - innerHeight;
    }
    for (const [side, by] of Object.entries(cuts)) {
      if (by > 0.5) found.push("is " + Math.round(by) + " pixels beyond the " + side + " of the screen");
    }
  };
  const judgeCovers = (element) => {
    // One for each line of a link.
    for (const rect of element.getClientRects()) {
      const [insetX, insetY] = [Math.min(4, rect.width / 4), Math.min(4, rect.height / 4)];
      const [left, right] = [rect.left + insetX, rect.right - insetX];
      const [top, bottom] = [rect.top + insetY, rect.bottom - insetY];
      const corners = [[left, top], [right, top], [left, bottom], [right, bottom]];
      const hits = [[(left + right) / 2, (top + bottom) / 2], ...corners]
        .map(([x, y]) => document.elementFromPoint(x, y))
        .filter((hit) => hit !== null && !element.contains(hit) && !hit.contains(element));
      if (hits.length > 0) found.push("is covered by " + nameOf(hits[0]));
    }
  };

  // A list may draw the ring around its active entry.
  const active = document.getElementById(one.getAttribute("aria-activedescendant") ?? "");
  for (const element of active === null ? [one] : [one, active]) {
    const style = getComputedStyle(element);
    const width = Number.parseFloat(style.outlineWidth);
    const reach = Math.max(0, width + Number.parseFloat(style.outlineOffset));
    const whole = element.getBoundingClientRect();
    judgeRing(element, style, width);
    judgeCuts(element, whole, reach);
    judgeScreen(whole, reach);
    judgeCovers(element);
  }
  const labels = [...(one.labels ?? [])].map((label) => label.textContent).join(" ");
  const name = [one.getAttribute("aria-label"), labels, one.textContent]
    .map((text) => (text ?? "").trim())
    .find((text) => text !== "");
  return {
    role: one.getAttribute("role") ?? one.tagName.toLowerCase(),
    name: (name ?? "").slice(0, 80),
    problems: found,
  };
}`;
