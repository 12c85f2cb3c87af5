import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import {
  LOCK_FILE_NAME,
  LockFile,
  type PackageHash,
  Platform,
  ProviderAddress,
  Version,
  VersionConstraints,
  writeArchive,
} from "@stackwright/provider-source";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DigestMemory } from "../cache/digest-memory.ts";
import { parseCliConfiguration } from "./cli-configuration.ts";
import { type InstallOptions, installProviders } from "./installer.ts";
import { filesOf, LoopbackRegistry, type Offered } from "./loopback-registry.ts";

const SOURCE = "registry.example.com/acme/thing";
const ADDRESS = ProviderAddress.parse(SOURCE);
const PLATFORM = Platform.parse("linux_amd64");
const THREE: readonly Offered[] = ["1.0.0", "1.2.0", "2.0.0"].map((version) => ({
  source: SOURCE,
  version,
}));
/** For processes, which have no choice of the platform. */
const FOR_US: readonly Offered[] = THREE.map((offer) => ({
  ...offer,
  platform: Platform.ofNode().toString(),
}));

async function setUp(offers: readonly Offered[] = THREE) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "install-"));
  onTestFinished(() => scratch.remove());
  const registry = await LoopbackRegistry.start(offers);
  onTestFinished(() => registry[Symbol.asyncDispose]());
  const configure = (text: string) =>
    parseCliConfiguration(text, "rc", { env: { HOME: scratch.path }, cwd: scratch.path });
  const install = (options: Partial<InstallOptions> & { constraints?: string } = {}) =>
    installProviders({
      requirements: [
        {
          address: ADDRESS,
          constraints: VersionConstraints.parse(options.constraints ?? "~> 1.0"),
        },
      ],
      lock: LockFile.empty,
      directory: "providers",
      cwd: scratch.path,
      env: { HOME: scratch.path },
      platform: PLATFORM,
      configuration: configure(registry.cliConfiguration("registry.example.com")),
      http: { retryDelayMs: 1 },
      ...options,
    });
  const urls = () => registry.requests.map(({ url }) => url);
  const mirrored: Partial<InstallOptions> = {
    configuration: configure(
      'provider_installation {\n  network_mirror {\n    url = "https://mirror.example.com/mirror/"\n  }\n}\n',
    ),
    http: {
      retryDelayMs: 1,
      // In place of a server with a certificate.
      fetch: async ({ pathname }: URL, init: RequestInit) => {
        const response = await fetch(new URL(pathname, registry.url), init);
        return new Response(response.body, response);
      },
    },
  };
  return { scratch: scratch.path, registry, configure, install, urls, mirrored };
}

describe("installation from a registry", () => {
  it("takes the newest version that is allowed, checks the signature and fills the lock file", async () => {
    const { install, urls } = await setUp();
    const { lock, providers } = await install();
    const provider = providers.get(SOURCE);
    const { stdout } = await promisify(execFile)("cat", [provider?.executable ?? ""]);

    expect(stdout).toContain("thing 1.2.0");
    expect(provider?.version?.toString()).toBe("1.2.0");
    expect(provider?.authentication).toEqual({
      kind: "signed",
      keyId: expect.stringMatching(/^[0-9A-F]{16}$/),
    });
    expect(urls()).toEqual([
      "/v1/acme/thing/versions",
      "/v1/acme/thing/1.2.0/download/linux/amd64",
      "/SHA256SUMS",
      "/SHA256SUMS.sig",
      "/files/terraform-provider-thing_1.2.0_linux_amd64.zip",
    ]);
    const hashes = lock.get(ADDRESS)?.hashes.map((hash) => hash.slice(0, 3));
    expect(hashes).toEqual(["h1:", "zh:", "zh:", "zh:"]);
    expect(lock.get(ADDRESS)?.constraints.toString()).toBe("~> 1.0");
  });

  it("asks for nothing when what is locked is there", async () => {
    const { install, registry } = await setUp();
    const first = await install();
    registry.requests.length = 0;
    const second = await install({ lock: first.lock });
    expect(second.providers.get(SOURCE)?.origin).toBe("present");
    expect(second.lock.toString()).toBe(first.lock.toString());
    expect(registry.requests).toEqual([]);
  });

  it("reads a package that is there in full, but for a memory that knows it", async () => {
    const { install, scratch } = await setUp();
    const { lock, providers } = await install();
    const { executable = "", digest } = providers.get(SOURCE) ?? {};
    expect(lock.get(ADDRESS)?.hashes).toContain(digest);
    let asked = 0;
    const digestMemory: DigestMemory = {
      hash: async (directory, compute) => {
        asked += 1;
        expect(executable.startsWith(directory)).toBe(true);
        return compute();
      },
    };
    const known = await install({ lock, digestMemory });
    expect(known.providers.get(SOURCE)).toMatchObject({ origin: "present", digest });
    expect(asked).toBe(1);
    await writeFile(executable, "another program");
    const trusting: DigestMemory = { hash: async () => digest as PackageHash };
    const trusted = await install({ lock, digestMemory: trusting });
    expect(trusted.providers.get(SOURCE)?.origin).toBe("present");
    expect((await install({ lock })).providers.get(SOURCE)?.origin).toBe("installed");
    await rm(join(scratch, "providers"), { recursive: true });
    expect((await install({ lock, digestMemory })).providers.get(SOURCE)?.origin).toBe("installed");
    expect(asked).toBe(1);
  });

  it("keeps the locked version, and takes a newer one on request", async () => {
    const { install, scratch } = await setUp();
    const { lock } = await install({ constraints: "1.0.0" });
    await rm(join(scratch, "providers"), { recursive: true });
    const kept = await install({ lock });
    const upgraded = await install({ lock, upgrade: true });
    expect(kept.providers.get(SOURCE)?.version?.toString()).toBe("1.0.0");
    expect(upgraded.providers.get(SOURCE)?.version?.toString()).toBe("1.2.0");
  });

  it("notices a package that was changed in its place, and takes it anew", async () => {
    const { install } = await setUp();
    const { lock, providers } = await install();
    const executable = providers.get(SOURCE)?.executable ?? "";
    await writeFile(executable, "changed");
    const again = await install({ lock });
    expect(again.providers.get(SOURCE)?.origin).toBe("installed");
    expect(await readFile(executable, "utf8")).toContain("1.2.0");
  });

  it("continues where a download broke off", async () => {
    const content = Buffer.alloc(200_000, "0123456789abcdef");
    for (let index = 0; index < content.length; index += 7) content[index] = (index * 31) % 251;
    const files = [...filesOf({ source: SOURCE, version: "1.0.0" }), { path: "data", content }];
    const { install, registry } = await setUp([{ source: SOURCE, version: "1.0.0", files }]);
    registry.faults.breakOffs = 3;
    const { providers } = await install();
    expect(providers.get(SOURCE)?.origin).toBe("installed");
    const parts = registry.requests.filter(({ url }) => url.startsWith("/files/"));
    expect(parts.map(({ status }) => status)).toEqual([200, 206, 206, 206]);
  });

  it.each([
    ["is not named", () => undefined],
    ["has a weak name", () => 'W/"x"'],
    ["has another name each time", () => `"${randomUUID()}"`],
  ] satisfies [string, () => string | undefined][])(
    "starts a download anew where the file %s",
    async (_why, etag) => {
      const { install, registry } = await setUp();
      registry.faults.breakOffs = 2;
      registry.faults.etag = etag;
      const { providers } = await install();
      expect(providers.get(SOURCE)?.origin).toBe("installed");
      const parts = registry.requests.filter(({ url }) => url.startsWith("/files/"));
      expect(parts.map(({ status }) => status)).toEqual([200, 200, 200]);
    },
  );

  it("gives up a download that breaks off again and again", async () => {
    const { install, registry } = await setUp();
    registry.faults.breakOffs = 100;
    await expect(install({ resumes: 3 })).rejects.toMatchObject({
      code: "TFPLUGIN_REGISTRY_UNAVAILABLE",
      retryable: true,
    });
  });

  it("repeats requests that are answered with 503", async () => {
    const { install, registry } = await setUp();
    registry.faults.unavailable = 2;
    await expect(install()).resolves.toBeDefined();
  });

  it("sends the token of the registry by its name, and not along with files", async () => {
    const { install, registry, configure } = await setUp();
    registry.faults.token = "s3cret";
    await expect(install()).rejects.toMatchObject({ code: "TFPLUGIN_REGISTRY_UNAUTHORIZED" });
    registry.requests.length = 0;
    const service = registry.cliConfiguration("registry.example.com");
    // The token of the host that the service happens to be on is not for this registry.
    const wrong = configure(`${service}credentials "${registry.host}" { token = "s3cret" }`);
    await expect(install({ configuration: wrong })).rejects.toMatchObject({
      code: "TFPLUGIN_REGISTRY_UNAUTHORIZED",
    });
    expect(registry.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
    registry.requests.length = 0;
    const configuration = configure(
      `${service}credentials "registry.example.com" { token = "s3cret" }`,
    );
    await install({ configuration });
    const sent = registry.requests.map(({ authorization }) => authorization);
    expect(sent).toEqual(["Bearer s3cret", "Bearer s3cret", undefined, undefined, undefined]);
  });

  it.each([
    [{ wrongKey: true }, "TFPLUGIN_SIGNATURE_INVALID"],
    [{ armoredSignature: true }, "TFPLUGIN_SIGNATURE_INVALID"],
    [{ damaged: true }, "TFPLUGIN_CHECKSUM_MISMATCH"],
    [{ contentType: "text/plain" }, "TFPLUGIN_REGISTRY_INVALID"],
    [{ protocols: ["4.0"] }, "TFPLUGIN_PROTOCOL_UNSUPPORTED"],
    [{ unavailable: 100 }, "TFPLUGIN_REGISTRY_UNAVAILABLE"],
  ] as const)("refuses where %o", async (faults, code) => {
    const { install, registry, scratch } = await setUp();
    Object.assign(registry.faults, faults);
    await expect(install()).rejects.toMatchObject({ code });
    expect(await readdir(join(scratch, "providers")).catch(() => [])).toEqual([]);
  });

  it.each([
    [{ constraints: "> 3" }, "TFPLUGIN_VERSION_UNAVAILABLE"],
    [{ platform: Platform.parse("plan9_arm") }, "TFPLUGIN_PLATFORM_UNAVAILABLE"],
    [{ maxArchiveBytes: 100 }, "TFPLUGIN_DOWNLOAD_TOO_LARGE"],
  ] as const)("refuses %o", async (options, code) => {
    const { install } = await setUp();
    await expect(install(options)).rejects.toMatchObject({ code });
  });

  it("refuses an unknown provider", async () => {
    const { install } = await setUp();
    const address = ProviderAddress.parse("registry.example.com/acme/nothing");
    const requirements = [{ address, constraints: VersionConstraints.any }];
    await expect(install({ requirements })).rejects.toMatchObject({
      code: "TFPLUGIN_PROVIDER_UNKNOWN",
    });
  });

  it("refuses a version that the registry gave up, locked or required, with the reason and what to do", async () => {
    const { install, registry, scratch } = await setUp();
    const { lock } = await install();
    await rm(join(scratch, "providers"), { recursive: true });
    registry.faults.gone = new Map([["1.2.0", "version 1.2.0 is in quarantine: stolen key."]]);
    for (const options of [{ lock }, { constraints: "1.2.0" }]) {
      await expect(install(options)).rejects.toMatchObject({
        code: "TFPLUGIN_VERSION_UNAVAILABLE",
        provider: SOURCE,
        message:
          `the registry of registry.example.com no longer offers ${SOURCE} 1.2.0 (version 1.2.0 is in quarantine: stolen key); ` +
          'allow another version and update the lock file with "init -upgrade", or let an administrator of the server that gave it up offer this one again',
      });
    }
    const { providers } = await install({ lock, upgrade: true });
    expect(providers.get(SOURCE)?.version?.toString()).toBe("1.0.0");
  });

  it("names what there is, and where, if no version is allowed", async () => {
    const { install } = await setUp();
    await expect(install({ constraints: "3.0.0" })).rejects.toThrow(
      `no version of ${SOURCE} is allowed by 3.0.0; there are 1.0.0, 1.2.0, 2.0.0 in the registry of its host`,
    );
  });

  it("refuses other bytes under a version that is locked", async () => {
    const { install, registry, scratch } = await setUp();
    const { lock } = await install();
    await rm(join(scratch, "providers"), { recursive: true });
    await registry.republish(filesOf({ source: SOURCE, version: "9.9.9" }));
    await expect(install({ lock })).rejects.toMatchObject({ code: "TFPLUGIN_CHECKSUM_MISMATCH" });
  });

  it("refuses constraints that the lock file contradicts", async () => {
    const { install } = await setUp();
    const { lock } = await install();
    await expect(install({ lock, constraints: "2.0.0" })).rejects.toMatchObject({
      code: "TFPLUGIN_LOCK_CONFLICT",
    });
  });

  it("refuses a package without a program", async () => {
    const files = [{ path: "README", content: Buffer.from("nothing") }];
    const { install } = await setUp([{ source: SOURCE, version: "1.0.0", files }]);
    await expect(install()).rejects.toMatchObject({ code: "TFPLUGIN_PACKAGE_INVALID" });
  });

  it("leaves built-in providers out", async () => {
    const { install } = await setUp();
    const address = ProviderAddress.implied("terraform");
    const { lock, providers } = await install({
      requirements: [{ address, constraints: VersionConstraints.any }],
    });
    expect(providers.size + lock.providers.size).toBe(0);
  });
});

describe("installation from elsewhere", () => {
  it("takes packed and unpacked packages of a folder", async () => {
    const { install, configure, scratch } = await setUp([]);
    const mirror = join(scratch, "mirror");
    const unpacked = join(mirror, SOURCE, "1.1.0/linux_amd64");
    await mkdir(unpacked, { recursive: true });
    await writeFile(join(unpacked, "terraform-provider-thing"), "#!/bin/sh\n");
    await chmod(join(unpacked, "terraform-provider-thing"), 0o755);
    const packed = join(mirror, SOURCE, "terraform-provider-thing_1.3.0_linux_amd64.zip");
    await mkdir(dirname(packed), { recursive: true });
    await writeArchive(packed, filesOf({ source: SOURCE, version: "1.3.0" }));
    const configuration = configure(
      'provider_installation {\n  filesystem_mirror {\n    path = "$HOME/mirror"\n  }\n}\n',
    );
    const newest = await install({ configuration });
    const other = await install({ configuration, constraints: "1.1.0" });
    expect(newest.providers.get(SOURCE)?.version?.toString()).toBe("1.3.0");
    expect(other.providers.get(SOURCE)?.version?.toString()).toBe("1.1.0");
    expect(newest.lock.get(ADDRESS)?.hashes.every((hash) => hash.startsWith("h1:"))).toBe(true);
  });

  it("takes those of a folder that is there by convention, and does not ask the registry then", async () => {
    const { install, scratch, registry } = await setUp();
    const place = join(scratch, ".terraform.d/plugins", SOURCE, "1.0.0/linux_amd64");
    await mkdir(place, { recursive: true });
    await writeFile(join(place, "terraform-provider-thing"), "#!/bin/sh\n");
    const { providers } = await install();
    expect(providers.get(SOURCE)?.version?.toString()).toBe("1.0.0");
    expect(registry.requests).toEqual([]);
  });

  it("takes what a network mirror has, by its hashes", async () => {
    const { install, registry, urls, mirrored } = await setUp();
    const { lock, providers } = await install(mirrored);
    expect(providers.get(SOURCE)?.authentication).toEqual({ kind: "checksum" });
    expect(lock.get(ADDRESS)?.hashes.map((hash) => hash.slice(0, 3))).toEqual(["h1:"]);
    expect(urls()).toEqual([
      `/mirror/${SOURCE}/index.json`,
      `/mirror/${SOURCE}/1.2.0.json`,
      "/files/terraform-provider-thing_1.2.0_linux_amd64.zip",
    ]);
    registry.faults.damaged = true;
    await expect(install({ ...mirrored, constraints: "1.0.0" })).rejects.toMatchObject({
      code: "TFPLUGIN_CHECKSUM_MISMATCH",
    });
  });

  it("refuses a version that the mirror gave up, and a provider of which all are", async () => {
    const { install, registry, mirrored, scratch } = await setUp();
    const { lock } = await install(mirrored);
    await rm(join(scratch, "providers"), { recursive: true });
    registry.faults.gone = new Map(THREE.map(({ version }) => [version, "stolen key"]));
    const given = `the mirror https://mirror.example.com/mirror/ no longer offers ${SOURCE} 1.2.0 (stolen key); `;
    for (const options of [{ lock }, { constraints: "1.2.0" }]) {
      await expect(install({ ...mirrored, ...options })).rejects.toThrow(given);
    }
    await expect(install(mirrored)).rejects.toMatchObject({
      code: "TFPLUGIN_VERSION_UNAVAILABLE",
      message: `no version of ${SOURCE} is offered by the mirror https://mirror.example.com/mirror/`,
    });
  });

  it("asks the sources in their order, and only those that are allowed", async () => {
    const { install, configure, registry } = await setUp();
    const text = (include: string) =>
      `${registry.cliConfiguration("registry.example.com")}
      provider_installation {
        direct { include = ["${include}"] }
      }`;
    await install({ configuration: configure(text("registry.example.com/*/*")) });
    const elsewhere = install({ configuration: configure(text("example.org/*/*")) });
    await expect(elsewhere).rejects.toMatchObject({ code: "TFPLUGIN_PROVIDER_UNKNOWN" });
  });

  it("uses the folder of an override as it is", async () => {
    const { install, configure, scratch, registry } = await setUp();
    await writeFile(join(scratch, "terraform-provider-thing"), "#!/bin/sh\n");
    const configuration = configure(
      `provider_installation {\n  dev_overrides { "${SOURCE}" = "." }\n  direct {}\n}\n`,
    );
    const { providers, lock } = await install({ configuration });
    expect(providers.get(SOURCE)).toMatchObject({
      origin: "override",
      version: undefined,
      executable: join(scratch, "terraform-provider-thing"),
    });
    expect(lock.providers.size).toBe(0);
    expect(registry.requests).toEqual([]);
  });

  it.each(["../evil", "/evil", "a/../../evil"])(
    "refuses an archive with the path %s",
    async (path) => {
      const good = filesOf({ source: SOURCE, version: "1.0.0" });
      const { install, scratch, configure } = await setUp([]);
      const archive = join(
        scratch,
        "mirror",
        SOURCE,
        "terraform-provider-thing_1.0.0_linux_amd64.zip",
      );
      await mkdir(dirname(archive), { recursive: true });
      // Our packer does not make such archives: the name is changed afterwards, in both directories.
      const placeholder = "x".repeat(path.length);
      await writeArchive(archive, [...good, { path: placeholder, content: Buffer.from("evil") }]);
      const bytes = (await readFile(archive)).toString("latin1").replaceAll(placeholder, path);
      await writeFile(archive, Buffer.from(bytes, "latin1"));
      const configuration = configure(
        'provider_installation {\n  filesystem_mirror { path = "mirror" }\n}\n',
      );
      await expect(install({ configuration })).rejects.toMatchObject({
        code: "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
      });
      expect(await readdir(scratch)).not.toContain("evil");
    },
  );
});

describe("the plug-in cache", () => {
  it("is filled, and used where the lock file has the hash", async () => {
    const { install, configure, registry, scratch } = await setUp();
    await mkdir(join(scratch, "cache"));
    const text = registry.cliConfiguration("registry.example.com");
    const configuration = configure(`${text}plugin_cache_dir = "$HOME/cache"\n`);
    const first = await install({ configuration });
    registry.requests.length = 0;
    const second = await install({ configuration, lock: first.lock, directory: "elsewhere" });
    expect(second.providers.get(SOURCE)?.origin).toBe("cache");
    expect(registry.requests).toEqual([]);
    const third = await install({ configuration, directory: "again" });
    expect(third.providers.get(SOURCE)?.origin).toBe("installed");
    const { version = Version.parse("0.0.1") } = third.providers.get(SOURCE) ?? {};
    expect(version.toString()).toBe("1.2.0");
  });

  const factor = Number(process.env.STACKWRIGHT_RUNS ?? 1);

  it("is safe when many fill it at once", { timeout: 30_000 + 5000 * factor }, async ({
    annotate,
  }) => {
    const { install, configure, registry, scratch } = await setUp();
    const text = registry.cliConfiguration("registry.example.com");
    const configuration = configure(`${text}plugin_cache_dir = "$HOME/cache"\n`);
    const rounds = Math.ceil(2 * factor);
    for (let round = 0; round < rounds; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          install({ configuration, directory: `d${index % 4}` }),
        ),
      );
      expect(new Set(results.map(({ lock }) => lock.toString())).size).toBe(1);
      const places = await readdir(join(scratch, "cache", SOURCE, "1.2.0"));
      expect(places).toEqual(["linux_amd64"]);
      // Every other round the links are there, and only the cache is empty.
      const emptied = round % 2 === 0 ? ["cache"] : ["cache", "d0", "d1", "d2", "d3"];
      for (const name of emptied) await rm(join(scratch, name), { recursive: true });
    }
    await annotate(`${12 * rounds} installations`, "count");
  });

  it("is safe when processes fill it at once", async ({ annotate }) => {
    const { registry, scratch } = await setUp(FOR_US);
    const rc = join(scratch, "rc");
    const host = registry.cliConfiguration("registry.example.com");
    await writeFile(rc, `${host}plugin_cache_dir = "$HOME/cache"\n`);
    const program = join(import.meta.dirname, "../testing/programs/init.ts");
    const env = { HOME: scratch, TF_CLI_CONFIG_FILE: rc };
    const locks = await Promise.all(
      ["a", "b", "c"].map(async (name) => {
        const cwd = join(scratch, name);
        await mkdir(cwd);
        await promisify(execFile)(process.execPath, [program, SOURCE, "~> 1.0"], { cwd, env });
        return readFile(join(cwd, LOCK_FILE_NAME), "utf8");
      }),
    );
    expect(new Set(locks).size).toBe(1);
    expect(await readdir(join(scratch, "cache", SOURCE, "1.2.0"))).toEqual([
      Platform.ofNode().toString(),
    ]);
    const left = await readdir(join(scratch, "cache"));
    expect(left.filter((name) => name.startsWith("."))).toEqual([]);
    await annotate("3 processes", "count");
  });
});
