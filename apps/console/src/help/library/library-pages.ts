import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commentMarkdown } from "./comment-markdown.ts";
import { type Declaration, declarationsOf } from "./declaration.ts";
import { type ExportedName, ExportedNames } from "./exported-names.ts";

/** A page of the reference of libraries, which is in no file of the repository. */
interface LibraryPage {
  /** Where it would be, such as `docs/library/cty.md`. */
  readonly path: string;
  readonly markdown: string;
}

/** The page that leads to those of the libraries. */
export const LIBRARIES = "docs/library.md";

interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly exports?: Readonly<Record<string, string>>;
}

/** Of a generator, whose page would be that of the protocol. */
const GENERATED = /\/(?:gen|generated)\//;

/** One page for each library with all that it exports, read from its sources: declarations with the comments before them. */
export function libraryPages(root: string): readonly LibraryPage[] {
  const names = new ExportedNames();
  return globSync("packages/*/package.json", { cwd: root })
    .toSorted()
    .map((path) => {
      const folder = path.slice(0, -"/package.json".length);
      const manifest = JSON.parse(readFileSync(join(root, path), "utf8")) as Manifest;
      const short = folder.slice("packages/".length);
      return {
        path: `docs/library/${short}.md`,
        markdown: pageOf(join(root, folder), short, manifest, names),
      };
    });
}

/** What the page of the libraries says of those pages. */
export function libraryIndex(pages: readonly LibraryPage[]): string {
  const links = pages.map(({ path, markdown }) => {
    const title = /^# `(.*)`$/m.exec(markdown)?.[1] ?? path;
    return `- [\`${title}\`](${path.slice("docs/".length)})`;
  });
  return `\n## Reference\n\n${links.join("\n")}\n`;
}

function pageOf(
  folder: string,
  short: string,
  { name, description, exports = {} }: Manifest,
  names: ExportedNames,
): string {
  const parts = [
    `# \`${name}\``,
    `${description}. [What it is for and how it is used](../../packages/${short}/README.md).`,
  ];
  for (const [subpath, source] of Object.entries(exports)) {
    const specifier = name + subpath.slice(1);
    parts.push(`## \`${specifier}\``);
    if (GENERATED.test(source)) {
      parts.push("Messages and services, generated from the files of the protocol.");
      continue;
    }
    const found = names.of(join(folder, source));
    // By names, as they are looked for.
    const sorted = found.toSorted((a, b) =>
      a.name.localeCompare(b.name, "en", { caseFirst: "lower" }),
    );
    for (const one of sorted) parts.push(...sectionOf(one));
  }
  return `${parts.join("\n\n")}\n`;
}

function sectionOf(exported: ExportedName): readonly string[] {
  const heading = `### \`${exported.name}\``;
  if (exported.kind === "passed on") return [heading, `That of \`${exported.from}\`.`];
  const declarations = declarationsOf(exported.file, exported.localName);
  return [heading, ...declarations.flatMap(describe)];
}

function describe({ signature, comment }: Declaration): readonly string[] {
  const text = commentMarkdown(comment);
  return [`\`\`\`ts\n${signature}\n\`\`\``, ...(text === "" ? [] : [text])];
}
