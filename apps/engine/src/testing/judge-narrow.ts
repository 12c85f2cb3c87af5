import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { violationsOf } from "./start-console.ts";

/** To be looked at: CONSOLE_SCREENSHOTS names the folder. */
const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";
const COLORS = ["none", "active"] as const;

/** On 320 pixels, with the page's colours and with those of the system, what is open is no wider than the screen and has no violations. */
export async function judgeNarrow(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  // High enough that the bar at the bottom lies over nothing, which a reader would scroll to.
  await page.setViewportSize({ width: 320, height: 3_000 });
  for (const forcedColors of COLORS) {
    await page.emulateMedia({ forcedColors });
    const wide = await page.evaluate<number>(
      "Math.max(...[document.documentElement, ...document.querySelectorAll('dialog[open]')].map((one) => one.scrollWidth))",
    );
    expect(wide, `${name}, forced colors ${forcedColors}`).toBeLessThanOrEqual(320);
    const found = await violationsOf(page);
    expect(found, `${name}, forced colors ${forcedColors}`).toEqual([]);
    if (FOLDER !== "") {
      const path = join(FOLDER, `${name}-${forcedColors === "active" ? "forced-" : ""}320.png`);
      await page.screenshot({ path });
    }
  }
  await page.emulateMedia({ forcedColors: "none" });
  if (before !== null) await page.setViewportSize(before);
}
