import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { onTestFinished, type TestContext } from "vitest";

/** Where packages of distributions put the browser. */
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const LIMIT_MS = 60_000;

interface OpenPage {
  readonly page: Page;
  /** Errors of the scripts of its pages so far. */
  readonly errors: readonly string[];
}

/** A page in the browser of this machine, with a profile of its own; it ends with the test. Without a browser the test is skipped. */
export async function openPage(context: TestContext): Promise<OpenPage> {
  const executablePath = PATHS.find((path) => existsSync(path)) ?? "";
  context.skip(executablePath === "", "there is no Chromium on this machine");
  const profile = await mkdtempDisposable(join(tmpdir(), "stackwright-browser-"));
  onTestFinished(async () => profile.remove());
  const browser = await chromium.launchPersistentContext(profile.path, {
    executablePath,
    headless: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"],
    reducedMotion: "reduce",
    viewport: { width: 1390, height: 900 },
  });
  onTestFinished(async () => browser.close());
  const errors: string[] = [];
  browser.on("weberror", (error) => errors.push(String(error.error())));
  const page = await browser.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  return { page, errors };
}
