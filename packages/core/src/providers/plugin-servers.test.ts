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

it.each([
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
