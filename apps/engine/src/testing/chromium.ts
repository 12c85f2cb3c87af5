import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";

/** Where packages of distributions put the browser. */
const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser of the machine; undefined where there is none. */
export function findChromium(): string | undefined {
  return PATHS.find((path) => existsSync(path));
}

/** What a page did that it must not do. */
interface Misbehavior {
  /** Errors of its scripts, and messages that its console calls errors. */
  readonly errors: string[];
  /** Violations of its security policy. */
  readonly violations: string[];
  /** Requests to anything but the server. */
  readonly strangers: string[];
}

/** A browser with a profile of its own. */
export interface TestBrowser extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly misbehavior: Misbehavior;
}

/** Starts the browser for pages of one server, and notes what they do wrong. */
export async function startChromium(
  executablePath: string,
  server: string,
  options: Pick<BrowserContextOptions, "colorScheme" | "viewport" | "bypassCSP"> = {},
): Promise<TestBrowser> {
  const profile = await mkdtempDisposable(join(tmpdir(), "console-browser-"));
  const context = await chromium.launchPersistentContext(profile.path, {
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-dev-shm-usage",
    ],
    reducedMotion: "reduce",
    viewport: { width: 1390, height: 900 },
    ...options,
  });
  const misbehavior: Misbehavior = { errors: [], violations: [], strangers: [] };
  await context.exposeBinding("noteViolation", (_source, text: string) => {
    misbehavior.violations.push(text);
  });
  await context.addInitScript({
    content: `addEventListener("securitypolicyviolation", (event) => {
      window.noteViolation(event.violatedDirective + " " + event.blockedURI + " " + event.sample);
    });`,
  });
  context.on("request", (request) => {
    if (!request.url().startsWith(`${server}/`)) misbehavior.strangers.push(request.url());
  });
  context.on("weberror", (error) => misbehavior.errors.push(String(error.error())));
  context.on("console", (message) => {
    if (message.type() !== "error") return;
    misbehavior.errors.push(`${message.text()} ${message.location().url}`);
  });
  return {
    context,
    misbehavior,
    [Symbol.asyncDispose]: async () => {
      await context.close();
      await profile.remove();
    },
  };
}
