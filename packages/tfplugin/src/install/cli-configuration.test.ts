import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProviderAddress } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { AddressPattern } from "./address-pattern.ts";
import { loadCliConfiguration, parseCliConfiguration } from "./cli-configuration.ts";

const parse = (text: string) =>
  parseCliConfiguration(text, "rc", { env: { HOME: "/home/me", ROOT: "/srv" }, cwd: "/work" });

describe("the command's configuration file", () => {
  it("is read as far as it is about providers", () => {
    const configuration = parse(
      `
      # comments of all kinds
      plugin_cache_dir   = "$ROOT\${HOME}/cache" // here
      disable_checkpoint = true /* and
      here */
      credentials_helper "store" { args = ["--x", 1] }
      credentials "App.Example.com:443" { token = "s3\\"cret" }
      host "registry.example.com" {
        services = { "providers.v1" = "https://r.example.com/v1/", "modules.v1": "x" }
      }
      provider_installation {
        dev_overrides {
          "acme/thing" = "~/bin"
          "example.com/a/b" = "x"
        }
        filesystem_mirror { path = "mirror" include = ["example.com/*/*"] }
        network_mirror { url = "https://m.example.com/" exclude = ["acme/*"] }
        direct {}
      }`,
    );
    expect(configuration.pluginCacheDir).toBe("/srv/home/me/cache");
    expect([...configuration.tokens]).toEqual([["app.example.com", 's3"cret']]);
    expect([...configuration.devOverrides]).toEqual([
      ["registry.terraform.io/acme/thing", "/home/me/bin"],
      ["example.com/a/b", "/work/x"],
    ]);
    expect(configuration.hosts.get("registry.example.com")?.get("providers.v1")).toBe(
      "https://r.example.com/v1/",
    );
    expect(configuration.methods?.map(({ kind }) => kind)).toEqual([
      "filesystem_mirror",
      "network_mirror",
      "direct",
    ]);
  });

  it.each([
    "provider_installation {",
    "provider_installation { unknown {} }",
    "provider_installation { filesystem_mirror {} }",
    'provider_installation { direct { url = "x" } }',
    'provider_installation { network_mirror { url = "http://x/" } }',
    'provider_installation { direct { include = ["*/thing"] } }',
    'provider_installation { dev_overrides { "a/b/c/d" = "x" } }',
    "provider_installation {}\nprovider_installation {}",
    'credentials { token = "x" }',
    "plugin_cache_dir = 3",
    'plugin_cache_dir = "a\nb"',
    'plugin_cache_dir = "\\q"',
    "a = [1,,2]",
    "a = @",
    `a = ${"[".repeat(100)}`,
  ])("is refused where it is %j", (text) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: "TFPLUGIN_CLI_CONFIG_INVALID" }),
    );
  });

  it("says the line", () => {
    expect(() => parse("\n\na = \n}")).toThrow('rc:4: expected a value, found "}"');
  });

  it("is found by variables, which add tokens and the cache", async () => {
    const env = {
      HOME: "/does/not/exist",
      TF_CLI_CONFIG_FILE: "/does/not/exist",
      TF_TOKEN_app_my__host_io: "t",
      TF_PLUGIN_CACHE_DIR: "/cache",
    };
    const configuration = await loadCliConfiguration({ env });
    expect(configuration.pluginCacheDir).toBe("/cache");
    expect([...configuration.tokens]).toEqual([["app.my-host.io", "t"]]);
  });
});

it("tokens that login has kept are known, and give way to those of the file", async () => {
  await using home = await mkdtempDisposable(join(tmpdir(), "home-"));
  await mkdir(join(home.path, ".terraform.d"));
  const kept = { "a.example.com": { token: "kept" }, "b.example.com": { token: "old" }, c: 1 };
  const store = join(home.path, ".terraform.d/credentials.tfrc.json");
  await writeFile(store, JSON.stringify({ credentials: kept }));
  const rc = 'credentials "b.example.com" { token = "new" }';
  await writeFile(join(home.path, ".terraformrc"), rc);
  const { tokens } = await loadCliConfiguration({ env: { HOME: home.path } });
  expect([...tokens]).toEqual([
    ["a.example.com", "kept"],
    ["b.example.com", "new"],
  ]);
  await writeFile(store, "{");
  await expect(loadCliConfiguration({ env: { HOME: home.path } })).rejects.toMatchObject({
    code: "TFPLUGIN_CLI_CONFIG_INVALID",
  });
});

it("variables say how registries are asked, and whether the cache may break a lock file", async () => {
  const load = async (env: Record<string, string>) =>
    loadCliConfiguration({ env: { HOME: "/does/not/exist", ...env } });
  expect(await load({})).toMatchObject({ registryHttp: {}, cacheMayBreakLockFile: false });
  const set = { TF_REGISTRY_DISCOVERY_RETRY: "5", TF_REGISTRY_CLIENT_TIMEOUT: "30" };
  expect((await load(set)).registryHttp).toEqual({ retries: 5, idleMs: 30_000 });
  await expect(load({ TF_REGISTRY_CLIENT_TIMEOUT: "soon" })).rejects.toMatchObject({
    code: "TFPLUGIN_CLI_CONFIG_INVALID",
    message: expect.stringContaining("TF_REGISTRY_CLIENT_TIMEOUT"),
  });
  const cache = await load({ TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE: "true" });
  expect(cache.cacheMayBreakLockFile).toBe(true);
});

describe("a pattern of addresses", () => {
  it.each([
    ["*/*/*", "example.com/a/b", true],
    ["example.com/*/*", "example.com/a/b", true],
    ["example.com/*/*", "example.org/a/b", false],
    ["hashicorp/*", "hashicorp/random", true],
    ["hashicorp/random", "hashicorp/null", false],
    ["hashicorp/random", "example.com/hashicorp/random", false],
  ])("%s and %s: %s", (pattern, address, expected) => {
    expect(AddressPattern.parse(pattern).matches(ProviderAddress.parse(address))).toBe(expected);
  });
});
