import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Sources that name the version because they run where no manifest is: bundled into functions of users. */
const NAMED = [
  {
    path: "packages/fg-bridge/src/function/function-options.ts",
    version: /^const VERSION = "(.+)";$/m,
  },
];

/** Where the version is another than that of the command: everything is released together, and has one. */
export function versionProblems(root: string): readonly string[] {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const versionOf = (path: string): string | undefined =>
    (JSON.parse(read(path)) as { readonly version?: string }).version;
  const wanted = versionOf("apps/cli/package.json");
  const found = [
    ...globSync("{packages,apps}/*/package.json", { cwd: root })
      .toSorted()
      .map((path) => ({ path, version: versionOf(path) })),
    ...NAMED.map(({ path, version }) => ({ path, version: version.exec(read(path))?.[1] })),
  ];
  return found
    .filter(({ version }) => version !== wanted)
    .map(
      ({ path, version }) =>
        `${path} has the version ${version}, and the command ${wanted}; write that one there`,
    );
}
