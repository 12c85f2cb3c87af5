import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { bundleForBrowsers } from "./browser-bundles.ts";
import { runSuiteCommand } from "./command.ts";
import { checkInstalledCommand } from "./installed-command.ts";
import { useWithOlderNodes } from "./older-nodes.ts";
import { checkRelease } from "./release-checks.ts";
import { addTallies, type Tally, tallyCommand } from "./tally.ts";
import { listPackages, type WorkspacePackage } from "./workspace.ts";

/**
 * Proves that what `pnpm pack` makes of each package can be used. Every tarball goes through
 * publint; then all are unpacked side by side, as an installation would lay them out, and a small
 * program imports every subpath, which must type-check and run; libraries for older Nodes and for browsers are used there as well.
 */
export async function checkPackages(root: string): Promise<Tally> {
  const packages = listPackages(root).filter(({ manifest }) => manifest.private !== true);
  if (packages.length === 0) return { passed: 0, failed: [], skipped: [] };
  // The cache of turbo adds files and removes none.
  for (const { path } of packages) rmSync(join(path, "dist"), { recursive: true, force: true });
  const build = await runSuiteCommand(["turbo", "run", "build", "--output-logs=errors-only"], {
    cwd: root,
    timeoutMs: 600_000,
  });
  const tallies = [tallyCommand("build", build)];
  if (build.code !== 0) return addTallies(tallies);
  const folder = mkdtempSync(join(tmpdir(), "stackwright-pack-"));
  try {
    for (const owner of packages) tallies.push(await packAndLint(root, owner, folder));
    tallies.push(await useAll(root, packages, folder));
    tallies.push(await bundleForBrowsers(join(folder, "consumer")));
    tallies.push(await useWithOlderNodes(join(folder, "consumer"), packages));
    tallies.push(await checkInstalledCommand(tarballOf(join(folder, "apps/cli"))));
    tallies.push(await checkRelease(root));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return addTallies(tallies);
}

function installedPath(folder: string, { manifest }: WorkspacePackage): string {
  return join(folder, "consumer", "node_modules", manifest.name);
}

function tarballOf(destination: string): string {
  const [name = ""] = readdirSync(destination);
  return join(destination, name);
}

/** Packs one package, checks the tarball, and unpacks it where the consumer finds it. */
async function packAndLint(root: string, owner: WorkspacePackage, folder: string): Promise<Tally> {
  const destination = join(folder, owner.folder);
  mkdirSync(destination, { recursive: true });
  const pack = await runSuiteCommand(["pnpm", "pack", "--pack-destination", destination], {
    cwd: owner.path,
    timeoutMs: 120_000,
    capture: true,
  });
  if (pack.code !== 0) return tallyCommand(`${owner.folder}: pack`, pack);
  const path = tarballOf(destination);
  const tarball = readFileSync(path);
  const { messages, pkg } = await publint({
    strict: true,
    pack: { tarball: new Uint8Array(tarball).buffer },
  });
  const failed = messages
    .filter(({ type }) => type !== "suggestion")
    .map(
      (message) =>
        `${owner.folder}: ${formatMessage(message, pkg, { color: false }) ?? message.code}`,
    );
  const missing = ["README.md", "LICENSE"].filter((file) => !existsSync(join(owner.path, file)));
  failed.push(...missing.map((file) => `${owner.folder} has no ${file}`));

  const target = installedPath(folder, owner);
  mkdirSync(target, { recursive: true });
  const unpack = await runSuiteCommand(
    ["tar", "-xzf", path, "-C", target, "--strip-components=1"],
    { cwd: root, timeoutMs: 60_000 },
  );
  failed.push(...tallyCommand(`${owner.folder}: unpack`, unpack).failed);
  linkDependencies(owner, target);
  return { passed: failed.length === 0 ? 1 : 0, failed, skipped: [] };
}

/** Gives the unpacked package the third-party dependencies that the workspace installed for it. */
function linkDependencies({ path, manifest }: WorkspacePackage, target: string): void {
  const names = Object.keys({
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
    ...manifest.dependencies,
  });
  for (const name of names.filter((dependency) => !dependency.startsWith("@stackwright/"))) {
    const source = join(path, "node_modules", name);
    if (!existsSync(source)) continue;
    const link = join(target, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(source, link);
  }
}

/** Imports every subpath of every package from outside the workspace: types first, then for real. */
async function useAll(
  root: string,
  packages: readonly WorkspacePackage[],
  folder: string,
): Promise<Tally> {
  const consumer = join(folder, "consumer");
  mkdirSync(join(consumer, "node_modules/@types"), { recursive: true });
  symlinkSync(join(root, "node_modules/@types/node"), join(consumer, "node_modules/@types/node"));
  symlinkSync(join(root, "node_modules/vitest"), join(consumer, "node_modules/vitest"));
  const specifiers = packages.flatMap(({ manifest }) =>
    Object.keys(manifest.publishConfig?.exports ?? {})
      .filter((subpath) => subpath !== "./package.json")
      .map((subpath) => manifest.name + subpath.slice(1)),
  );
  // A conformance suite registers cases with the test runner, so it loads only inside one.
  const runnable = specifiers.filter((specifier) => !specifier.endsWith("/testing"));
  writeFileSync(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    join(consumer, "types.ts"),
    specifiers.map((name, index) => `export * as m${index} from "${name}";\n`).join(""),
  );
  writeFileSync(
    join(consumer, "run.mjs"),
    runnable.map((name) => `await import("${name}");\n`).join(""),
  );
  writeFileSync(
    join(consumer, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        target: "es2024",
        lib: ["es2024", "esnext"],
        module: "nodenext",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        types: ["node"],
      },
      files: ["types.ts"],
    }),
  );
  const options = { cwd: consumer, timeoutMs: 180_000 };
  const types = await runSuiteCommand([join(root, "node_modules/.bin/tsc"), "-p", "."], options);
  const run = await runSuiteCommand([process.execPath, "run.mjs"], options);
  return addTallies([
    tallyCommand("types of the packed packages, seen from outside", types),
    tallyCommand("import of every subpath of the packed packages", run),
  ]);
}
