import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { packagedPrograms } from "@stackwright-tools/servers";
import { transform } from "esbuild";
import { runSuiteCommand } from "./command.ts";
import { snippetsOf } from "./readme-snippets.ts";
import { addTallies, type Tally, tallyCommand } from "./tally.ts";
import type { WorkspacePackage } from "./workspace.ts";

const OLDER = [20, 22];

/**
 * Uses the packed libraries with every older Node that their manifests allow: the import of every subpath, and the examples of the
 * README, compiled as a user of such a Node does.
 *
 * @param consumer the folder that has them installed
 */
export async function useWithOlderNodes(
  consumer: string,
  packages: readonly WorkspacePackage[],
): Promise<Tally> {
  const tallies: Tally[] = [];
  const nodes = { ...packagedPrograms(), ...process.env };
  for (const major of OLDER) {
    const node = nodes[`TEST_NODE_${major}`];
    const owners = packages.filter(({ manifest }) => oldestNode(manifest.engines?.node) <= major);
    if (node === undefined) {
      const reason = `the libraries with Node ${major}: it is not installed; set TEST_NODE_${major}`;
      tallies.push({ passed: 0, failed: [], skipped: [reason] });
      continue;
    }
    for (const owner of owners) tallies.push(await useOne(consumer, owner, major, node));
  }
  return addTallies(tallies);
}

/** The first number of a range such as `>=20`; infinite where none is stated. */
export function oldestNode(range: string | undefined): number {
  const [, major] = /^>=(\d+)/.exec(range ?? "") ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(major);
}

async function useOne(
  consumer: string,
  { path, folder, manifest }: WorkspacePackage,
  major: number,
  node: string,
): Promise<Tally> {
  const imports = Object.keys(manifest.publishConfig?.exports ?? {})
    .filter((subpath) => subpath !== "./package.json" && !subpath.endsWith("/testing"))
    .map((subpath) => `await import("${manifest.name}${subpath.slice(1)}");\n`)
    .join("");
  const programs = [
    { name: "import of every subpath", code: imports },
    ...snippetsOf(readFileSync(join(path, "README.md"), "utf8")).map(({ line, code }) => ({
      name: `the example at line ${line} of the README`,
      code,
    })),
  ];
  // There it finds what the package itself finds.
  const cwd = join(consumer, "node_modules", manifest.name);
  const tallies: Tally[] = [];
  for (const [at, { name, code }] of programs.entries()) {
    const file = join(cwd, `example-${major}-${at}.mjs`);
    const program = await transform(code, { loader: "ts", target: `node${major}`, format: "esm" });
    writeFileSync(file, program.code);
    const run = await runSuiteCommand([node, file], {
      cwd,
      timeoutMs: 120_000,
      capture: true,
    });
    tallies.push(tallyCommand(`${folder} with Node ${major}: ${name}`, run));
  }
  return addTallies(tallies);
}
