import { globSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";

/** Source and test files below a folder, relative to it, sorted; neither installed nor built ones. */
export function sourceFiles(folder: string): string[] {
  return globSync("**/*.{ts,mts,mjs,js,tsx}", {
    cwd: folder,
    exclude: (name) => name === "node_modules" || name === "dist" || name === ".readme-snippets",
  }).toSorted();
}

/** Module specifiers of static and literal dynamic imports and of re-exports in a file. */
export function importsOf(path: string): string[] {
  const source = readFileSync(path, "utf8");
  const { module } = parseSync(path, source);
  const literal = /^(["'`])(.*)\1$/s;
  return [
    ...module.staticImports.map((entry) => entry.moduleRequest.value),
    ...module.staticExports.flatMap((statement) =>
      statement.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
    ),
    ...module.dynamicImports.flatMap((entry) => {
      const text = source.slice(entry.moduleRequest.start, entry.moduleRequest.end);
      return literal.exec(text)?.[2] ?? [];
    }),
  ];
}
