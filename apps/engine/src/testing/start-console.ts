import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, onTestFinished, type TestContext } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { findChromium, startChromium, type TestBrowser } from "./chromium.ts";
import { type ServerProcess, startServerProcess } from "./start-server-process.ts";
import { tarOf } from "./tar-of.ts";

export const MAIN = join(import.meta.dirname, "..", "main.ts");
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

interface ConsoleOptions {
  readonly scheme?: "light" | "dark";
  readonly viewport?: NonNullable<BrowserContextOptions["viewport"]>;
  /** Of the server. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface TestConsole {
  readonly server: ServerProcess;
  readonly token: string;
  readonly browser: TestBrowser;
  readonly page: Page;
  readonly scratch: string;
  /** A request to the API that has to succeed. */
  readonly call: (
    method: string,
    path: string,
    body?: object | Uint8Array<ArrayBuffer>,
  ) => Promise<Record<string, string>>;
  /** Requests a run of a configuration; resolves with its id. */
  readonly request: (text: string, options: object) => Promise<string>;
  /** Waits until a run is in a phase. */
  readonly waitFor: (run: string, phase: string) => Promise<void>;
}

/** A server with a stack `one`, and a browser that is signed in. */
export async function startConsole(
  context: TestContext,
  { scheme = "light", viewport, args: more = [], env = {} }: ConsoleOptions = {},
): Promise<TestConsole> {
  const executable = findChromium();
  context.skip(executable === undefined, "there is no Chromium on this machine");
  const scratch = await mkdtemp(join(tmpdir(), "console-"));
  // A run of a server that was killed may write for a moment longer.
  onTestFinished(async () => rm(scratch, { recursive: true, force: true, maxRetries: 20 }));
  const file = join(scratch, "first.json");
  const store = `sqlite:${join(scratch, "store")}`;
  const args = ["--store", store, "--bootstrap-file", file, ...more];
  const server = await startServerProcess(MAIN, args, { cwd: scratch, env });
  const { token } = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
  const call = async (method: string, path: string, body?: object | Uint8Array<ArrayBuffer>) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    expect(answer.status, `${method} ${path}`).toBeLessThan(300);
    const found: unknown = await answer.json();
    return found as Record<string, string>;
  };
  await call("POST", "/projects/default/stacks", { name: "one" });
  const stack = "/projects/default/stacks/one";
  const request = async (text: string, options: object): Promise<string> => {
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const { digest } = await call("POST", `${stack}/configurations`, archive);
    const { id = "" } = await call("POST", `${stack}/runs`, { configuration: digest, ...options });
    return id;
  };
  const waitFor = async (run: string, wanted: string): Promise<void> => {
    await expect
      .poll(async () => (await call("GET", `${stack}/runs/${run}`))["phase"], {
        timeout: 90_000,
        interval: 250,
      })
      .toBe(wanted);
  };
  const browser = await startChromium(executable ?? "", server.url, {
    colorScheme: scheme,
    ...(viewport !== undefined && { viewport }),
  });
  onTestFinished(async () => browser[Symbol.asyncDispose]());
  const page = await browser.context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${server.url}/`);
  expect(page.url()).toBe(`${server.url}/console/`);
  await signIn(page, token);
  return { server, token, call, request, waitFor, browser, page, scratch };
}

/** Signs in on the form that a page shows. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
}

/** Waits until a page has what it shows. */
export async function isLoaded(page: Page): Promise<void> {
  await expect.poll(async () => page.locator("main .loading").count(), { timeout: 30_000 }).toBe(0);
}

/** Serious violations of WCAG 2.2 AA on the page as it is. */
export async function violationsOf(page: Page): Promise<string[]> {
  // The policy of the page lets no script in from outside; the debugger may evaluate.
  await page.evaluate(await readFile(AXE, "utf8"));
  const found = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { target: string[] }[] }[];
  }>(`axe.run({ runOnly: { type: "tag", values: ${JSON.stringify(TAGS)} } })`);
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}
