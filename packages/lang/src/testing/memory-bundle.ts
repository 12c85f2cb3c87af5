import type { BundleFiles } from "../eval/host.ts";

/** Files in memory as a bundle. */
export function memoryBundle(files: Readonly<Record<string, string>>): BundleFiles {
  const list = (folder: string): string[] => {
    const prefix = folder === "." ? "" : `${folder}/`;
    return Object.keys(files)
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length));
  };
  return {
    read: (path) => new TextEncoder().encode(files[path] ?? ""),
    exists: (path) => path in files,
    names: (folder) => list(folder).filter((name) => !name.includes("/")),
    list,
    absolute: (path) => `/${path}`,
  };
}
