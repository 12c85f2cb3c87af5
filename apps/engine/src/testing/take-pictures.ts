import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";

/** To be looked at: CONSOLE_SCREENSHOTS names the folder. */
const FOLDER = process.env["CONSOLE_SCREENSHOTS"] ?? "";

/** Pictures of what a page shows, light and dark, wide and narrow, where a folder for them is named. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (FOLDER === "") return;
  await mkdir(FOLDER, { recursive: true });
  const before = page.viewportSize();
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}-${width}.png`) });
    }
  }
  if (before !== null) await page.setViewportSize(before);
}
