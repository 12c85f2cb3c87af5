import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { linksOf } from "./page-links.ts";

/** The links of all pages of an unpacked package that lead to files which the package lacks. */
export function deadPackedLinks(folder: string): {
  readonly pages: number;
  readonly problems: readonly string[];
} {
  const pages = globSync("**/*.md", { cwd: folder });
  const problems = pages.flatMap((page) =>
    linksOf(readFileSync(join(folder, page), "utf8")).flatMap(({ line, target }) => {
      const [path = ""] = target.split("#");
      if (path === "" || /^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
      const file = normalize(join(dirname(page), decodeURIComponent(path)));
      const isPacked = !file.startsWith("..") && existsSync(join(folder, file));
      return isPacked ? [] : [`${page}:${line}: the package has no ${file}`];
    }),
  );
  return { pages: pages.length, problems };
}
