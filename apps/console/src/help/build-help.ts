import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileOf, readPages } from "./read-pages.ts";
import { type HelpSection, renderPage } from "./render-page.ts";
import { searchIndex } from "./search-index.ts";

const ASSETS = join(import.meta.dirname, "assets");
const STYLE = join(import.meta.dirname, "..", "app", "style");

/**
 * The documentation as static files by their path below `/help/`. Equal pages give equal bytes, and nothing in them leads a browser to
 * another host before a reader follows a link.
 *
 * @param root of the repository
 */
export async function buildHelp(root: string): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const asset = async (path: string): Promise<string> => {
    const content = await readFile(path);
    const digest = createHash("sha256").update(content).digest("hex").slice(0, 10);
    const extension = extname(path);
    const name = `assets/${path.slice(path.lastIndexOf("/") + 1, -extension.length)}-${digest}${extension}`;
    files.set(name, content);
    return name;
  };
  const assets = {
    script: await asset(join(ASSETS, "help.js")),
    styles: [await asset(join(STYLE, "console.css")), await asset(join(ASSETS, "help.css"))],
    icon: await asset(join(STYLE, "icon.svg")),
  };
  const pages = await readPages(root);
  const sections: HelpSection[] = [];
  for (const page of pages.values()) {
    const rendered = renderPage(page, { pages, assets });
    const name = fileOf(page.path);
    files.set(name, Buffer.from(rendered.html));
    sections.push(...rendered.sections);
    for (const image of rendered.images) files.set(image, await readFile(join(root, image)));
  }
  for (const [name, content] of searchIndex(sections)) files.set(name, content);
  return files;
}
