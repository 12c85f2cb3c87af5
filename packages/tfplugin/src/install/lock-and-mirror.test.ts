import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  LockFile,
  Platform,
  ProviderAddress,
  Version,
  VersionConstraints,
} from "@stackwright/provider-source";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseCliConfiguration } from "./cli-configuration.ts";
import { installProviders } from "./installer.ts";
import { lockProviders } from "./lock-providers.ts";
import { filesOf, LoopbackRegistry, type Offered } from "./loopback-registry.ts";
import { mirrorProviders } from "./mirror-providers.ts";

const SOURCE = "registry.example.com/acme/thing";
const ADDRESS = ProviderAddress.parse(SOURCE);
const LINUX = Platform.parse("linux_amd64");
const MAC = Platform.parse("darwin_arm64");
/** 1.1.0 is there for one platform alone. */
const OFFERS: readonly Offered[] = [
  { source: SOURCE, version: "1.0.0", platform: "linux_amd64" },
  { source: SOURCE, version: "1.0.0", platform: "darwin_arm64", files: macFiles() },
  { source: SOURCE, version: "1.1.0", platform: "darwin_arm64" },
];

function macFiles() {
  return [
    ...filesOf({ source: SOURCE, version: "1.0.0" }),
    { path: "MAC", content: Buffer.from("x\n") },
  ];
}

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "lock-"));
  onTestFinished(() => scratch.remove());
  const registry = await LoopbackRegistry.start(OFFERS);
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const root = scratch.path;
  const shared = {
    cwd: root,
    configuration: parseCliConfiguration(registry.cliConfiguration("registry.example.com"), "rc", {
      env: { HOME: root },
      cwd: root,
    }),
    http: { retryDelayMs: 1 },
  };
  const require = (constraints: string) => [
    { address: ADDRESS, constraints: VersionConstraints.parse(constraints) },
  ];
  return { root, registry, shared, require };
}

/** Packages as they lie unpacked in a folder. */
async function writeUnpacked(root: string): Promise<void> {
  for (const { version, platform = "", files } of OFFERS) {
    for (const { path, content } of files ?? filesOf({ source: SOURCE, version })) {
      const file = join(root, SOURCE, version, platform, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content as Uint8Array, { mode: 0o755 });
    }
  }
}

describe("lockProviders", () => {
  it("adds the hashes of every platform, and says what is new", async () => {
    const { shared, require } = await setUp();
    const requirements = require("1.0.0");
    const first = await lockProviders({
      ...shared,
      requirements,
      lock: LockFile.empty,
      platforms: [LINUX],
    });
    expect(first.packages.map(({ gain }) => gain)).toEqual(["provider"]);
    const both = await lockProviders({
      ...shared,
      requirements,
      lock: first.lock,
      platforms: [LINUX, MAC],
    });
    expect(both.packages.map(({ gain }) => gain)).toEqual(["nothing", "hashes"]);
    const hashes = both.lock.get(ADDRESS)?.hashes ?? [];
    // Two packages, and the three archives that the publisher signed.
    expect(hashes.map((hash) => hash.slice(0, 3))).toEqual(["h1:", "h1:", "zh:", "zh:", "zh:"]);
    const again = await lockProviders({
      ...shared,
      requirements,
      lock: both.lock,
      platforms: [MAC],
    });
    expect(again.lock.toString()).toBe(both.lock.toString());
  });

  it("gives what an installation on that platform accepts", async () => {
    const { shared, require, root } = await setUp();
    const requirements = require("1.0.0");
    const { lock } = await lockProviders({
      ...shared,
      requirements,
      lock: LockFile.empty,
      platforms: [LINUX, MAC],
    });
    for (const platform of [LINUX, MAC]) {
      const directory = join(root, platform.toString());
      const installed = await installProviders({
        ...shared,
        requirements,
        lock,
        directory,
        platform,
      });
      expect(installed.lock.toString()).toBe(lock.toString());
    }
  });

  it("takes one version for all platforms, and fails where one has none", async () => {
    const { shared, require, root } = await setUp();
    await writeUnpacked(join(root, "mirror"));
    const attempt = lockProviders({
      ...shared,
      requirements: require("~> 1.0"),
      lock: LockFile.empty,
      platforms: [MAC, LINUX],
      source: { kind: "filesystem_mirror", path: "mirror" },
    });
    await expect(attempt).rejects.toMatchObject({ code: "TFPLUGIN_PLATFORM_UNAVAILABLE" });
  });

  it("keeps what is locked: the version, its hashes, and other providers", async () => {
    const { shared, require, root } = await setUp();
    await writeUnpacked(join(root, "mirror"));
    const other = ProviderAddress.parse("registry.example.com/acme/other");
    const lock = LockFile.empty
      .addPlatformHashes({
        address: other,
        version: Version.parse("3.0.0"),
        constraints: VersionConstraints.any,
        hashes: [],
      })
      .addPlatformHashes({
        address: ADDRESS,
        version: Version.parse("1.0.0"),
        constraints: VersionConstraints.any,
        hashes: [],
      });
    const { lock: after } = await lockProviders({
      ...shared,
      requirements: require("~> 1.0"),
      lock,
      platforms: [LINUX],
      source: { kind: "filesystem_mirror", path: "mirror" },
    });
    expect(after.get(other)?.version.toString()).toBe("3.0.0");
    expect(after.get(ADDRESS)?.version.toString()).toBe("1.0.0");
    expect(after.get(ADDRESS)?.constraints.toString()).toBe("~> 1.0");
    expect(after.get(ADDRESS)?.hashes).toHaveLength(1);
  });

  it("refuses a version that is locked and not allowed, and a mirror without encryption", async () => {
    const { shared, require, registry } = await setUp();
    const lock = LockFile.empty.addPlatformHashes({
      address: ADDRESS,
      version: Version.parse("1.0.0"),
      constraints: VersionConstraints.any,
      hashes: [],
    });
    await expect(
      lockProviders({ ...shared, requirements: require(">= 1.1.0"), lock, platforms: [MAC] }),
    ).rejects.toMatchObject({ code: "TFPLUGIN_LOCK_CONFLICT" });
    await expect(
      lockProviders({
        ...shared,
        requirements: require("1.0.0"),
        lock,
        platforms: [MAC],
        source: { kind: "network_mirror", url: `${registry.url}mirror/` },
      }),
    ).rejects.toMatchObject({ code: "TFPLUGIN_OPTIONS_INVALID" });
  });

  it("locks nothing that is not what its registry says", async () => {
    const { shared, require, registry } = await setUp();
    registry.faults.damaged = true;
    await expect(
      lockProviders({
        ...shared,
        requirements: require("1.0.0"),
        lock: LockFile.empty,
        platforms: [LINUX],
      }),
    ).rejects.toMatchObject({ code: "TFPLUGIN_CHECKSUM_MISMATCH" });
  });
});

describe("mirrorProviders", () => {
  it("makes a folder from which can be installed, packed, with documents for servers", async () => {
    const { shared, require, root } = await setUp();
    const requirements = require("1.0.0");
    const { packages, problems } = await mirrorProviders({
      ...shared,
      requirements,
      platforms: [LINUX, MAC],
      directory: "mirror",
    });
    expect(problems).toEqual([]);
    expect(packages.map(({ authentication }) => authentication.kind)).toEqual(["signed", "signed"]);
    const folder = join(root, "mirror", SOURCE);
    expect((await readdir(folder)).toSorted()).toEqual([
      "1.0.0.json",
      "index.json",
      "terraform-provider-thing_1.0.0_darwin_arm64.zip",
      "terraform-provider-thing_1.0.0_linux_amd64.zip",
    ]);
    const configuration = parseCliConfiguration(
      `provider_installation {\n  filesystem_mirror { path = "${root}/mirror" }\n}\n`,
      "rc",
      { env: { HOME: root }, cwd: root },
    );
    const { lock } = await installProviders({
      requirements,
      lock: LockFile.empty,
      directory: join(root, "installed"),
      platform: LINUX,
      configuration,
      cwd: root,
      env: { HOME: root },
    });
    const document = JSON.parse(await readFile(join(folder, "1.0.0.json"), "utf8")) as {
      readonly archives: Readonly<Record<string, { readonly hashes: readonly string[] }>>;
    };
    expect(lock.get(ADDRESS)?.hashes).toEqual(document.archives.linux_amd64?.hashes);
    expect(Object.keys(document.archives)).toEqual(["darwin_arm64", "linux_amd64"]);
  });

  it("continues where one package is not available, and says so", async () => {
    const { shared, require, root } = await setUp();
    const { packages, problems } = await mirrorProviders({
      ...shared,
      requirements: require("~> 1.0"),
      platforms: [LINUX, MAC],
      directory: "mirror",
    });
    expect(packages.map(({ platform }) => platform.toString())).toEqual(["darwin_arm64"]);
    expect(problems).toMatchObject([
      { platform: LINUX, error: { code: "TFPLUGIN_PLATFORM_UNAVAILABLE" } },
    ]);
    expect((await readdir(join(root, "mirror", SOURCE))).toSorted()).toEqual([
      "1.1.0.json",
      "index.json",
      "terraform-provider-thing_1.1.0_darwin_arm64.zip",
    ]);
  });

  it("keeps packages that were there, and puts nothing there that is not what it should be", async () => {
    const { shared, require, root, registry } = await setUp();
    const lock = LockFile.empty.addPlatformHashes({
      address: ADDRESS,
      version: Version.parse("1.0.0"),
      constraints: VersionConstraints.any,
      hashes: [],
    });
    const mirror = { ...shared, requirements: require("~> 1.0"), directory: "mirror" };
    await mirrorProviders({ ...mirror, lock, platforms: [LINUX] });
    await mirrorProviders({ ...mirror, platforms: [MAC] });
    const folder = join(root, "mirror", SOURCE);
    const index = await readFile(join(folder, "index.json"), "utf8");
    expect(JSON.parse(index)).toEqual({ versions: { "1.0.0": {}, "1.1.0": {} } });
    const before = (await readdir(folder)).toSorted();

    registry.faults.damaged = true;
    const { problems } = await mirrorProviders({ ...mirror, lock, platforms: [LINUX, MAC] });
    expect(problems).toMatchObject([
      { error: { code: "TFPLUGIN_CHECKSUM_MISMATCH" } },
      { error: { code: "TFPLUGIN_CHECKSUM_MISMATCH" } },
    ]);
    expect((await readdir(folder)).toSorted()).toEqual(before);
  });

  it("wants a lock file that has everything, where there is one", async () => {
    const { shared, require } = await setUp();
    const lock = LockFile.empty.addPlatformHashes({
      address: ProviderAddress.parse("registry.example.com/acme/other"),
      version: Version.parse("1.0.0"),
      constraints: VersionConstraints.any,
      hashes: [],
    });
    const requirements = require("~> 1.0");
    await expect(
      mirrorProviders({ ...shared, requirements, lock, platforms: [MAC], directory: "mirror" }),
    ).rejects.toMatchObject({ code: "TFPLUGIN_LOCK_CONFLICT" });
  });
});
