import { join } from "node:path";
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
 * Bundles the packed libraries for a browser, as its users do; one that asks for a module of Node fails.
 *
 * @param consumer the folder that has them installed
 */
export async function bundleForBrowsers(consumer: string): Promise<Tally> {
  const failed: string[] = [];
  for (const name of FOR_BROWSERS) {
    try {
      await build({
        stdin: { contents: `export * from "${name}";\n`, resolveDir: consumer },
        bundle: true,
        format: "esm",
        platform: "browser",
        target: ["chrome120", "firefox121", "safari17"],
        write: false,
        outfile: join(consumer, "bundle.js"),
        logLevel: "silent",
      });
    } catch (error) {
      const texts = ((error as BuildFailure).errors ?? []).map(({ text }) => text);
      failed.push(`${name} in a browser: ${texts.join("; ") || String(error)}`);
    }
  }
  return { passed: FOR_BROWSERS.length - failed.length, failed, skipped: [] };
}
