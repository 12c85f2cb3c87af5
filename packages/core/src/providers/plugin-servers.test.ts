import { expect, it } from "vitest";
import { parsePluginServers } from "./plugin-servers.ts";

const SOURCE = "stackwright.local/pulumi/shelf";
const HEX = "6f1ed002ab5595859014ebf0951522d9e7ed4b1d5f5c0a1e0f6e1f0f7d6f0a11";

async function read(platform: string, hex: string) {
  const file = { plugins: { [SOURCE]: { server: "./plugins", checksums: { [platform]: hex } } } };
  const servers = await parsePluginServers(Buffer.from(JSON.stringify(file)));
  return servers.get(SOURCE)?.checksums;
}

it("has checksums by platform, in any case of letters", async () => {
  expect(await read("linux-amd64", HEX.toUpperCase())).toEqual(
    new Map([["linux-amd64", `zh:${HEX}`]]),
  );
});

it.each(["linux_amd64", "linux-x64", "macos-arm64", "amd64"])(
  "refuses a checksum of %s, which would check nothing",
  async (platform) => {
    await expect(read(platform, HEX)).rejects.toThrow(`has "${platform}": platforms are OS-ARCH`);
  },
);

it.each([
  ["github://api.github.com/acme/plugins", "https://github.com/acme/plugins"],
  ["github://api.github.com/acme", "https://github.com/acme/pulumi-shelf"],
  ["github://api.git.example.com/acme/a.b", "https://git.example.com/acme/a.b"],
])("takes %s for the releases of %s", async (server, releases) => {
  const file = Buffer.from(JSON.stringify({ plugins: { [SOURCE]: { server } } }));
  const servers = await parsePluginServers(file);
  expect(servers.get(SOURCE)?.server).toBe(`${releases}/releases/download/v\${VERSION}`);
});

it("knows where GitHub, GitLab and other servers list their versions", async () => {
  const read = async (entry: object) => {
    const file = Buffer.from(JSON.stringify({ plugins: { [SOURCE]: entry } }));
    return (await parsePluginServers(file)).get(SOURCE);
  };
  expect(await read({ server: "github://api.github.com/acme" })).toMatchObject({
    versions: "https://api.github.com/repos/acme/pulumi-shelf/releases",
  });
  expect(await read({ server: "gitlab://gitlab.example.com/417" })).toMatchObject({
    server: "https://gitlab.example.com/api/v4/projects/417/releases/v${VERSION}/downloads",
    versions: "https://gitlab.example.com/api/v4/projects/417/releases",
  });
  const own = {
    server: "https://plugins.example.com",
    versions: "https://plugins.example.com/v.json",
  };
  expect(await read(own)).toMatchObject(own);
});

it.each([
  "gitlab://gitlab.com/acme/plugins",
  "gitlab://me:secret@gitlab.com/417",
  "github://acme/plugins",
  "github://api.github.com/",
  "github://api.github.com/acme/..",
  "github://api.github.com/acme/../../other",
  "github://me:secret@api.github.com/acme",
  "github:acme/plugins",
])("refuses %s", async (server) => {
  const file = Buffer.from(JSON.stringify({ plugins: { [SOURCE]: { server } } }));
  await expect(parsePluginServers(file)).rejects.toThrow("github://api.github.com/OWNER");
});
