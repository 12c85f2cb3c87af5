import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  LOCK_FILE_NAME,
  LockFile,
  Platform,
  ProviderAddress,
  readLockFile,
  VersionConstraints,
} from "@stackwright/provider-source";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { findTerraform } from "../testing/terraform-command.ts";
import { loadCliConfiguration } from "./cli-configuration.ts";
import { type LockInstallationSource, lockProviders } from "./lock-providers.ts";
import { filesOf, LoopbackRegistry } from "./loopback-registry.ts";
import { mirrorProviders } from "./mirror-providers.ts";

/* `providers lock` and `providers mirror` of the command write the same files as ours, byte for byte. */

const found = findTerraform();
const run = promisify(execFile);

const REQUIRED = {
  thing: { source: "registry.example.com/acme/thing", version: "~> 1.0, != 1.2.0" },
  tool: { source: "registry.example.com/acme/tool", version: ">= 0.1.0" },
} as const;
const PLATFORMS = ["linux_amd64", "darwin_arm64", "windows_386"];

const OFFERS = PLATFORMS.flatMap((platform) =>
  Object.values(REQUIRED).flatMap(({ source }) =>
    ["0.3.0", "1.0.0", "1.1.0", "1.2.0"].map((version) => ({
      version,
      source,
      platform,
      files: [
        ...filesOf({ source, version }),
        { path: "PLATFORM", content: Buffer.from(`${platform}\n`) },
      ],
    })),
  ),
);

beforeEach((ctx) => {
  ctx.skip("absent" in found, "absent" in found ? found.absent : "");
});

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "lock-"));
  onTestFinished(() => scratch.remove());
  const registry = await LoopbackRegistry.start(OFFERS);
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const root = scratch.path;
  const rc = join(root, "rc");
  await writeFile(rc, registry.cliConfiguration("registry.example.com"));
  const env = { HOME: root, TF_CLI_CONFIG_FILE: rc, CHECKPOINT_DISABLE: "1" };
  const entries = Object.entries(REQUIRED).map(
    ([local, { source, version }]) =>
      `    ${local} = { source = "${source}", version = "${version}" }\n`,
  );
  for (const name of ["theirs", "ours"]) {
    await mkdir(join(root, name));
    await writeFile(
      join(root, name, "main.tf"),
      `terraform {\n  required_providers {\n${entries.join("")}  }\n}\n`,
    );
  }

  async function theirs(...args: string[]): Promise<void> {
    const command = "command" in found ? found.command : "";
    const options = { cwd: join(root, "theirs"), env: { ...env, PATH: process.env.PATH ?? "" } };
    await run(command, ["providers", ...args], options);
  }

  async function shared(names: readonly string[] = Object.keys(REQUIRED)) {
    const cwd = join(root, "ours");
    return {
      requirements: Object.entries(REQUIRED)
        .filter(([name]) => names.includes(name))
        .map(([, { source, version }]) => ({
          address: ProviderAddress.parse(source),
          constraints: VersionConstraints.parse(version),
        })),
      lock: (await readLockFile(join(cwd, LOCK_FILE_NAME)))?.locks ?? LockFile.empty,
      cwd,
      configuration: await loadCliConfiguration({ env, cwd }),
    };
  }

  async function lock(
    platforms: readonly string[],
    source?: LockInstallationSource,
    names?: readonly string[],
  ): Promise<void> {
    const result = await lockProviders({
      ...(await shared(names)),
      platforms: platforms.map(Platform.parse),
      ...(source !== undefined && { source }),
    });
    await writeFile(join(root, "ours", LOCK_FILE_NAME), result.lock.toString());
  }

  async function mirror(platforms: readonly string[], useLock = true): Promise<number> {
    const { lock: former, ...rest } = await shared();
    const { problems } = await mirrorProviders({
      ...rest,
      ...(useLock && { lock: former }),
      platforms: platforms.map(Platform.parse),
      directory: "mirror",
    });
    return problems.length;
  }

  const lockOf = (name: string) => readFile(join(root, name, LOCK_FILE_NAME), "utf8");
  async function mirrorOf(name: string): Promise<Record<string, string>> {
    const folder = join(root, name, "mirror");
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
      (entry) => entry.isFile(),
    );
    const contents = await Promise.all(
      files.map(async ({ parentPath, name: file }) => {
        const path = join(parentPath, file);
        return [path.slice(folder.length), await readFile(path, "latin1")] as const;
      }),
    );
    return Object.fromEntries(contents.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
  const flags = (platforms: readonly string[]) => platforms.map((name) => `-platform=${name}`);
  return { root, theirs, lock, mirror, lockOf, mirrorOf, flags };
}

describe("the command's providers lock, and ours", () => {
  it("agree on a registry: first one platform, then others, then some providers", async () => {
    const { theirs, lock, lockOf, flags } = await setUp();
    const steps: readonly (readonly [readonly string[], (readonly (keyof typeof REQUIRED)[])?])[] =
      [[["linux_amd64"], ["tool"]], [["linux_amd64"]], [PLATFORMS], [["darwin_arm64"], ["thing"]]];
    for (const [platforms, names] of steps) {
      const sources = (names ?? []).map((name) => REQUIRED[name].source);
      await theirs("lock", ...flags(platforms), ...sources);
      await lock(platforms, undefined, names);
      expect(await lockOf("ours")).toBe(await lockOf("theirs"));
    }
    expect((await lockOf("ours")).match(/h1:/g)).toHaveLength(6);
  });

  it("agree on a folder that the other has mirrored, packed", async () => {
    const { theirs, lock, lockOf, mirrorOf, flags, root } = await setUp();
    await theirs("mirror", ...flags(PLATFORMS), "mirror");
    await cp(join(root, "theirs/mirror"), join(root, "mirror"), { recursive: true });
    expect(Object.keys(await mirrorOf("theirs"))).toContain(
      "/registry.example.com/acme/thing/index.json",
    );
    await theirs("lock", `-fs-mirror=${root}/mirror`, ...flags(PLATFORMS));
    await lock(PLATFORMS, { kind: "filesystem_mirror", path: `${root}/mirror` });
    expect(await lockOf("ours")).toBe(await lockOf("theirs"));
    expect(await lockOf("ours")).not.toContain("zh:");
  });

  it("agree that a version which is locked is not allowed any more", async () => {
    const { theirs, lock, lockOf, root, flags } = await setUp();
    await theirs("lock", ...flags(["linux_amd64"]));
    const old = (await lockOf("theirs")).replace(/"1\.1\.0"/, '"1.2.0"');
    for (const name of ["theirs", "ours"]) await writeFile(join(root, name, LOCK_FILE_NAME), old);
    await expect(theirs("lock", ...flags(["linux_amd64"]))).rejects.toMatchObject({ code: 1 });
    await expect(lock(["linux_amd64"])).rejects.toMatchObject({ code: "TFPLUGIN_LOCK_CONFLICT" });
  });
});

describe("the command's providers mirror, and ours", () => {
  it("write the same files: newest versions, further platforms, and versions that are locked", async () => {
    const { theirs, mirror, mirrorOf, lockOf, flags, root } = await setUp();
    await theirs("mirror", ...flags(["linux_amd64"]), "mirror");
    expect(await mirror(["linux_amd64"])).toBe(0);
    expect(await mirrorOf("ours")).toEqual(await mirrorOf("theirs"));

    await theirs("lock", ...flags(["linux_amd64"]));
    const old = (await lockOf("theirs")).replaceAll(/"1\.[12]\.0"/g, '"1.0.0"');
    for (const name of ["theirs", "ours"]) await writeFile(join(root, name, LOCK_FILE_NAME), old);
    await theirs("mirror", ...flags(PLATFORMS), "mirror");
    expect(await mirror(PLATFORMS)).toBe(0);
    const files = await mirrorOf("ours");
    expect(files).toEqual(await mirrorOf("theirs"));
    expect(files["/registry.example.com/acme/tool/index.json"]).toContain('"1.0.0"');

    for (const name of ["theirs", "ours"])
      await rm(join(root, name, "mirror"), { recursive: true });
    await theirs("mirror", "-lock-file=false", ...flags(PLATFORMS), "mirror");
    expect(await mirror(PLATFORMS, false)).toBe(0);
    expect(await mirrorOf("ours")).toEqual(await mirrorOf("theirs"));
  });

  it("leave the same behind where a platform is missing", async () => {
    const { theirs, mirror, mirrorOf, flags } = await setUp();
    const platforms = ["linux_amd64", "plan9_mips"];
    await expect(theirs("mirror", ...flags(platforms), "mirror")).rejects.toMatchObject({
      code: 1,
    });
    expect(await mirror(platforms)).toBe(2);
    expect(await mirrorOf("ours")).toEqual(await mirrorOf("theirs"));
  });
});
