import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Platform, ProviderAddress } from "@stackwright/provider-source";
import { InstallHttpClient } from "@stackwright/tfplugin/install";
import { expect, it } from "vitest";
import { listPluginVersions } from "./list-plugin-versions.ts";
import type { PluginServer } from "./plugin-servers.ts";

const address = ProviderAddress.parse("stackwright.local/pulumi/shelf");
const platform = Platform.parse("linux_amd64");
const plugin = (more: Partial<PluginServer>): PluginServer => ({
  address,
  name: "shelf",
  server: "https://plugins.example.com",
  checksums: new Map(),
  ...more,
});
const archive = (version: string, arch = "amd64") => ({
  name: `pulumi-resource-shelf-v${version}-linux-${arch}.tar.gz`,
});

/** What a server lists that answers with these pages. */
async function list(
  pages: readonly unknown[],
  versions = "https://api.example.com/repos/acme/shelf/releases",
) {
  const asked: string[] = [];
  const http = new InstallHttpClient({
    retries: 0,
    fetch: async (url) => {
      asked.push(url.search);
      return Response.json(pages[Number(url.searchParams.get("page")) - 1] ?? []);
    },
  });
  const found = await listPluginVersions(plugin({ versions }), { cwd: "/", platform, http });
  return { asked, versions: found?.map(String) };
}

it("lists the releases with an archive for the platform, from all pages, the newest first", async () => {
  const many = Array.from({ length: 98 }, (_, patch) => ({ tag_name: `v1.0.${patch}` }));
  const first = [
    { tag_name: "v1.10.0", assets: [archive("1.10.0")] },
    { tag_name: "v2.0.0", assets: [archive("2.0.0", "arm64")] },
    ...many,
  ];
  const second = [
    { tag_name: "v1.9.0", assets: { links: [archive("1.9.0")] } },
    { tag_name: "v3.0.0", draft: true },
    { tag_name: "sdk/v4.0.0" },
    { tag_name: 5 },
    "v6.0.0",
    null,
  ];
  const { asked, versions } = await list([first, second]);
  expect(asked).toEqual(["?per_page=100&page=1", "?per_page=100&page=2"]);
  expect(versions?.slice(0, 3)).toEqual(["1.10.0", "1.9.0", "1.0.97"]);
  expect(versions).toHaveLength(100);
});

it("takes a document of versions", async () => {
  const { versions } = await list([{ versions: ["1.0.0", "v1.2.0", "x", 7] }]);
  expect(versions).toEqual(["1.2.0", "1.0.0"]);
});

it("ends with a server that never ends", async () => {
  const page = Array.from({ length: 100 }, () => ({ tag_name: "v1.0.0" }));
  const { asked } = await list(Array.from({ length: 100 }, () => page));
  expect(asked).toHaveLength(20);
});

it.each([
  [{ message: "no" }, "https://api.example.com/x", "is neither"],
  ["text", "https://api.example.com/x", "is neither"],
  [[], "http://api.example.com/x", "must have an https: URL"],
  [[], "file:///etc/passwd", "have an https: URL"],
  [[], "releases", "is not a URL"],
])("refuses %o of %s, and says what to do", async (document, url, why) => {
  await expect(list([document], url)).rejects.toMatchObject({
    code: "ENGINE_PROVIDER_UNAVAILABLE",
    message: expect.stringMatching(new RegExp(`${why}.*Require one exact version`)),
  });
});

it("lists the archives of a folder, and nothing of a URL without a list", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "plugin-versions-"));
  for (const { name } of [archive("1.0.0"), archive("1.2.0"), archive("9.0.0", "arm64")]) {
    await writeFile(join(folder.path, name), "");
  }
  const options = { cwd: "/", platform };
  const found = await listPluginVersions(plugin({ server: folder.path }), options);
  expect(found?.map(String)).toEqual(["1.2.0", "1.0.0"]);
  expect(await listPluginVersions(plugin({}), options)).toBeUndefined();
});
