import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashDirectory } from "../../hash/hash-directory.ts";
import { type Command, type CommandResult, Workspace } from "./command.ts";
import { type LockScenario, packageKey } from "./lock-scenario.ts";
import { SignedRegistry } from "./signed-registry.ts";
import { writeToMirror } from "./write-packages.ts";

/** How a story ended with the real command. */
export interface LockAnswer {
  readonly name: string;
  /** The lock file at the start, with its hashes filled in. */
  readonly before: string | null;
  readonly after: string;
  /** Archives as they were on offer, by {@link packageKey}: they bear times, so each is different. */
  readonly archives: ReadonlyMap<string, Uint8Array>;
}

async function writeModules(root: string, { modules }: LockScenario): Promise<void> {
  for (const [index, requirements] of modules.entries()) {
    const directory = index === 0 ? root : join(root, `m${index}`);
    await mkdir(directory, { recursive: true });
    const required = Object.entries(requirements).map(([source, version], i) => [
      `p${i}`,
      version === null ? { source } : { source, version },
    ]);
    const calls = modules.slice(1).map((_, i) => [`m${i + 1}`, { source: `./m${i + 1}` }]);
    await writeFile(
      join(directory, "main.tf.json"),
      JSON.stringify({
        terraform: { required_providers: Object.fromEntries(required) },
        ...(index === 0 && calls.length > 0 ? { module: Object.fromEntries(calls) } : {}),
      }),
    );
  }
}

function expectSuccess(result: CommandResult): void {
  if (result.exitCode !== 0)
    throw new Error(`the command failed: ${result.stdout}${result.stderr}`);
}

/** Plays a story with the real command. */
export async function askLockFile(command: Command, scenario: LockScenario): Promise<LockAnswer> {
  await using workspace = await Workspace.create(command);
  const root = workspace.path("module");
  const mirror = workspace.path("mirror");
  await writeModules(root, scenario);

  const places = new Map<string, string>();
  const archives = new Map<string, Uint8Array>();
  for (const one of scenario.packages) {
    const key = packageKey(one);
    const place = await writeToMirror(mirror, one);
    places.set(key, place);
    if (one.packed === true) archives.set(key, await readFile(place));
  }
  let before = scenario.before ?? null;
  for (const [placeholder, key] of scenario.before?.matchAll(/\{\{h1 (.*?)\}\}/g) ?? []) {
    const hash = await hashDirectory(places.get(key ?? "") ?? "");
    before = (before ?? "").replace(placeholder, hash);
  }
  const lockFile = join(root, ".terraform.lock.hcl");
  if (before !== null) await writeFile(lockFile, before);

  const fromMirror = `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(mirror)}\n  }\n}\n`;
  switch (scenario.action) {
    case "init":
    case "upgrade": {
      await workspace.configure(fromMirror);
      const flags = scenario.action === "upgrade" ? ["-upgrade"] : [];
      expectSuccess(await workspace.run(root, "init", "-no-color", ...flags));
      break;
    }
    case "lock": {
      const platforms = (scenario.platforms ?? []).map((platform) => `-platform=${platform}`);
      expectSuccess(
        await workspace.run(root, "providers", "lock", `-fs-mirror=${mirror}`, ...platforms),
      );
      break;
    }
    case "signed": {
      const offered = scenario.packages.map((one) => ({
        ...one,
        path: places.get(packageKey(one)) ?? "",
      }));
      await using registry = await SignedRegistry.start(offered);
      await workspace.configure(registry.cliConfiguration("example.com"));
      expectSuccess(await workspace.run(root, "init", "-no-color"));
      break;
    }
    default: {
      const never: never = scenario.action;
      throw new Error(`unknown action ${String(never)}`);
    }
  }
  return { name: scenario.name, before, after: await readFile(lockFile, "utf8"), archives };
}
