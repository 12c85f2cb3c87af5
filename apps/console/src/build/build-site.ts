import { join } from "node:path";
import { build } from "vite";

/** Folder of the package. */
export const CONSOLE_FOLDER = join(import.meta.dirname, "..", "..");

/** Builds the console into a folder, which is emptied before. Equal sources give equal bytes. */
export async function buildSite(folder: string): Promise<void> {
  await build({
    root: CONSOLE_FOLDER,
    configFile: false,
    base: "/console/",
    logLevel: "error",
    publicDir: false,
    cacheDir: join(CONSOLE_FOLDER, "node_modules", ".cache", "vite"),
    oxc: { jsx: { runtime: "automatic" } },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2023",
      // A policy of the page allows no inline script, and every browser in use preloads modules itself.
      modulePreload: { polyfill: false },
      // Nothing is written into the page as a data address.
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      // The licenses of what is bundled ask to be passed on with it.
      license: { fileName: "licenses.md" },
    },
    worker: { format: "es" },
  });
}
