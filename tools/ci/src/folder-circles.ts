import { dirname, join, relative, resolve, sep } from "node:path";
import { importsOf, sourceFiles } from "./source-imports.ts";
import { listPackages } from "./workspace.ts";

/** An import that does not count, `file -> file` relative to the package's `src`, by package folder, with its reason. */
const UNCOUNTED_IMPORTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "packages/cty": {
    "type/capsule.ts -> value/value.ts": "a capsule type converts to values; types alone",
  },
};

/** The folders of one package and what they import of one another. */
export interface FolderGraph {
  /** Relative to the root, with forward slashes: `packages/krt`. */
  readonly folder: string;
  /** Imports between folders of `src`: importing folder, imported folder, the files as `a -> b`. */
  readonly edges: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
  /** Sets of folders each of which reaches every other, largest first. */
  readonly circles: readonly (readonly string[])[];
}

/**
 * The graph of folders of every package with a `src`. A folder is a direct child of `src`; files directly in `src` join
 * the folders and do not count, nor do tests, which may import any folder.
 */
export function folderGraphs(root: string): FolderGraph[] {
  return listPackages(root)
    .filter(({ folder }) => /^(packages|apps)\//.test(folder))
    .map(({ folder, path }) => folderGraph(folder, join(path, "src")));
}

function folderGraph(folder: string, src: string): FolderGraph {
  const uncounted = UNCOUNTED_IMPORTS[folder] ?? {};
  const edges = new Map<string, Map<string, string[]>>();
  for (const file of sourceFiles(src)) {
    if (/\.(test|test-d)\.ts$/.test(file)) continue;
    for (const specifier of importsOf(join(src, file))) {
      if (!specifier.startsWith(".")) continue;
      const target = relative(src, resolve(dirname(join(src, file)), specifier)).replaceAll(
        sep,
        "/",
      );
      const [from, to] = [topFolder(file), topFolder(target)];
      const edge = `${file} -> ${target}`;
      if (from === undefined || to === undefined || from === to || edge in uncounted) continue;
      const targets = edges.get(from) ?? new Map<string, string[]>();
      edges.set(from, targets.set(to, [...(targets.get(to) ?? []), edge]));
    }
  }
  return { folder, edges, circles: circlesOf(edges) };
}

function topFolder(file: string): string | undefined {
  const [first, ...rest] = file.split("/");
  return rest.length === 0 || first === ".." ? undefined : first;
}

/** Two folders are in one circle where each reaches the other; graphs are small, so reachability is computed as such. */
function circlesOf(edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>): string[][] {
  const reach = new Map([...edges.keys()].map((from) => [from, reachable(edges, from)] as const));
  const circles = new Map<string, string[]>();
  for (const [from, targets] of reach) {
    if (!targets.has(from)) continue;
    const circle = [...targets].filter((to) => reach.get(to)?.has(from) === true).toSorted();
    circles.set(circle.join(), circle);
  }
  return [...circles.values()].toSorted((left, right) => right.length - left.length);
}

function reachable(
  edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
  from: string,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [from];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const to of edges.get(next)?.keys() ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      open.push(to);
    }
  }
  return seen;
}

/** One line per circle with the imports that make it, at most five of each pair of folders. */
export function describeCircles({ folder, edges, circles }: FolderGraph): string[] {
  return circles.map((circle) => {
    const imports = circle.flatMap((from) =>
      circle.flatMap((to) => (edges.get(from)?.get(to) ?? []).slice(0, 5)),
    );
    return `${folder}: the folders ${circle.join(", ")} import one another: ${imports.join("; ")}`;
  });
}
