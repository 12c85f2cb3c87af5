import { join } from "node:path";
import { type Context, createContext, runInContext } from "node:vm";
import { type BuildFailure, build } from "esbuild";
import type { Tally } from "./tally.ts";

/** What is for browsers, too: it needs nothing of Node. */
const FOR_BROWSERS = [
  "@stackwright/base/json",
  "@stackwright/base/limiter",
  "@stackwright/client",
  "@stackwright/cty",
  "@stackwright/krt",
  "@stackwright/krt/rxjs",
  "@stackwright/plan-view",
  "@stackwright/plan-view/lines",
];

/**
 * Bundles the packed libraries for a browser, as its users do, and loads each where there is nothing but what a page has; one that
 * asks for a module or a global of Node fails.
 *
 * @param consumer the folder that has them installed
 */
export async function bundleForBrowsers(consumer: string): Promise<Tally> {
  const failed: string[] = [];
  for (const name of FOR_BROWSERS) {
    try {
      loadInPage(await bundleForPage(`export * from "${name}";\n`, consumer));
    } catch (error) {
      const texts = ((error as BuildFailure).errors ?? []).map(({ text }) => text);
      failed.push(`${name} in a browser: ${texts.join("; ") || String(error)}`);
    }
  }
  return { passed: FOR_BROWSERS.length - failed.length, failed, skipped: [] };
}

/** One script that leaves its exports in the global `bundle`. */
export async function bundleForPage(contents: string, resolveDir: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    format: "iife",
    globalName: "bundle",
    platform: "browser",
    target: ["chrome120", "firefox121", "safari17"],
    write: false,
    outfile: join(resolveDir, "bundle.js"),
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

/** What Node has as browsers have it. Not among it: `process`, `Buffer`, `setImmediate`, `require`. */
const OF_BROWSERS = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "CompressionStream",
  "DOMException",
  "DecompressionStream",
  "Event",
  "EventTarget",
  "FormData",
  "Headers",
  "MessageChannel",
  "ReadableStream",
  "Request",
  "Response",
  "TextDecoder",
  "TextEncoder",
  "TransformStream",
  "URL",
  "URLSearchParams",
  "WebSocket",
  "WritableStream",
  "atob",
  "btoa",
  "clearInterval",
  "clearTimeout",
  "console",
  "crypto",
  "fetch",
  "performance",
  "queueMicrotask",
  "structuredClone",
];

/** Runs a script with the globals of a page that is not isolated from others. */
export function loadInPage(script: string): Context {
  const page: Context = {};
  for (const name of OF_BROWSERS) page[name] = (globalThis as Record<string, unknown>)[name];
  // Timers of pages are numbers.
  page["setTimeout"] = (run: () => void, ms: number) => Number(setTimeout(run, ms));
  page["setInterval"] = (run: () => void, ms: number) => Number(setInterval(run, ms));
  page["self"] = page;
  page["window"] = page;
  createContext(page);
  runInContext("delete globalThis.SharedArrayBuffer;", page);
  runInContext(script, page, { filename: "bundle.js" });
  return page;
}
