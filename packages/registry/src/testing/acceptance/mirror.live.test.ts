import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { archiveFromBytes, hashArchive } from "@stackwright/provider-source";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { claimNamespace } from "../../terraform/namespaces.ts";
import { packProvider } from "../pack-provider.ts";
import { TEST_CONTEXT } from "../registry-fixture.ts";
import { type AcceptanceServer, startAcceptanceServer } from "./acceptance-server.ts";
import { missingTerraform, TerraformFolder } from "./terraform-command.ts";

const missing = await missingTerraform();

describe("the real command and the network mirror protocol", () => {
  let server: AcceptanceServer;
  let archive: Buffer;

  beforeEach((context) => context.skip(missing !== undefined, missing));
  beforeAll(async () => {
    if (missing !== undefined) return;
    server = await startAcceptanceServer();
    archive = await packProvider("thing");
    for (const [name, isPublic] of [
      ["acme", true],
      ["secret", false],
    ] as const) {
      const namespace = { name, account: "acme", public: isPublic };
      await claimNamespace(server.fixture.registry, namespace, TEST_CONTEXT);
      await server.publish(`${name}/thing/1.0.0/linux_amd64`, archive);
    }
    server.take();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  afterEach(() => {
    if (missing !== undefined) return;
    Object.assign(server, { tamper: undefined, contentType: undefined });
    server.take();
  });

  const main = (source: string): string =>
    `terraform {\n  required_providers {\n    t = { source = "${source}", version = "~> 1.0" }\n  }\n}\n`;
  const mirror = (
    url = `https://localhost:${server.port}/terraform/v1/mirror/`,
    more = "",
  ): string =>
    `provider_installation {\n  network_mirror {\n    url = "${url}"\n    ${more}\n  }\n}\n`;
  const folder = (source: string, rc: string): Promise<TerraformFolder> =>
    TerraformFolder.create(server.ca, { main: main(source), rc });

  it("B1: installs with a verified checksum", async () => {
    await using work = await folder("example.test/acme/thing", mirror());
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining("verified checksum")]);
    expect(output).toContain("Incomplete lock file information");
    expect(server.take().map(({ what }) => what)).toEqual([
      "GET index",
      "GET version",
      "HEAD archive",
      "GET archive",
    ]);
    const lock = await work.lockFile();
    expect(lock).toContain((await hashArchive(archiveFromBytes(archive))).h1);
    expect(lock).not.toContain("zh:");
  });

  it("B2, canary: a wrong hash is refused", async () => {
    server.tamper = (what, payload) =>
      what === "version"
        ? payload.toString().replace(/"hashes":\[[^\]]*\]/, `"hashes":["zh:${"0".repeat(64)}"]`)
        : undefined;
    await using work = await folder("example.test/acme/thing", mirror());
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([
      1,
      expect.stringContaining("doesn't match the expected checksum"),
    ]);
  });

  it("B3, canary: without hashes anything is taken, so ours always has both", async () => {
    server.tamper = (what, payload) =>
      what === "version" ? payload.toString().replace(/,"hashes":\[[^\]]*\]/, "") : undefined;
    await using work = await folder("example.test/acme/thing", mirror());
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining("unauthenticated")]);
    server.tamper = undefined;
    const answer = await fetchJson("/terraform/v1/mirror/example.test/acme/thing/1.0.0.json");
    const { h1, zh } = await hashArchive(archiveFromBytes(archive));
    expect(answer).toMatchObject({ archives: { linux_amd64: { hashes: [h1, zh] } } });
  });

  it("B4, canary: without its last slash the address loses its last part", async () => {
    const url = `https://localhost:${server.port}/terraform/v1/mirror`;
    await using work = await folder("example.test/acme/thing", mirror(url));
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([
      1,
      expect.stringContaining("was not found in any of the search locations"),
    ]);
    expect(server.take().map(({ path }) => path)).toEqual([
      "/terraform/v1/example.test/acme/thing/index.json",
    ]);
  });

  it("B5, canary: plain HTTP is refused", async () => {
    const url = `http://127.0.0.1:${server.plainPort}/terraform/v1/mirror/`;
    await using work = await folder("example.test/acme/thing", mirror(url));
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("must be at an https: URL")]);
  });

  it("B6, canary: a source with a port cannot be mirrored", async () => {
    await using work = await folder(`localhost:${server.port}/acme/thing`, mirror());
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([
      1,
      expect.stringContaining('unsupported protocol scheme "localhost"'),
    ]);
  });

  it("B7: takes a token for the two documents, and none for the archive", async () => {
    await using without = await folder("example.test/secret/thing", mirror());
    expect(await without.run(["init"])).toMatchObject({ exitCode: 1 });
    server.take();
    const { "x-auth-token": token } = await server.fixture.authorization("acme", "reader");
    const credentials = `credentials "localhost:${server.port}" {\n  token = "${token}"\n}\n`;
    await using work = await folder("example.test/secret/thing", mirror() + credentials);
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    expect(server.take().map(({ what, bearer }) => [what, bearer])).toEqual([
      ["GET index", true],
      ["GET version", true],
      ["HEAD archive", false],
      ["GET archive", false],
    ]);
  });

  it("B8: shares the work with direct installation", async () => {
    const url = `https://localhost:${server.port}/terraform/v1/mirror/`;
    const rc = `provider_installation {
  network_mirror {
    url = "${url}"
    include = ["example.test/*/*"]
  }
  direct {
    exclude = ["example.test/*/*"]
  }
}
`;
    const both = `terraform {
  required_providers {
    a = { source = "example.test/acme/thing", version = "1.0.0" }
    b = { source = "localhost:${server.port}/acme/thing", version = "1.0.0" }
  }
}
`;
    await using work = await TerraformFolder.create(server.ca, { main: both, rc });
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    const asked = server.take();
    const mirrored = asked.filter(({ path }) => path.includes("/mirror/"));
    expect(mirrored.map(({ path }) => path)).toEqual([
      "/terraform/v1/mirror/example.test/acme/thing/index.json",
      "/terraform/v1/mirror/example.test/acme/thing/1.0.0.json",
    ]);
    expect(asked.map(({ what }) => what)).toContain("GET versions");
  });

  it("B9, B10: says what the command's own mirror says, which installs too", async () => {
    const source = `localhost:${server.port}/acme/thing`;
    await using work = await folder(source, "");
    const made = await work.run(["providers", "mirror", "-platform=linux_amd64", "out"]);
    expect(made).toMatchObject({ exitCode: 0 });
    const out = join(work.path, "work", "out");
    const directory = join(out, `localhost:${server.port}`, "acme", "thing");
    const local = async (name: string): Promise<unknown> =>
      JSON.parse(await readFile(join(directory, name), "utf8"));
    const base = `/terraform/v1/mirror/localhost:${server.port}/acme/thing`;
    expect(await fetchJson(`${base}/index.json`)).toEqual(await local("index.json"));
    type Archives = { archives: { linux_amd64: { hashes: string[]; url: string } } };
    const ours = (await fetchJson(`${base}/1.0.0.json`)) as Archives;
    const theirs = (await local("1.0.0.json")) as Archives;
    const [h1 = ""] = theirs.archives.linux_amd64.hashes;
    expect(ours.archives.linux_amd64.hashes).toContain(h1);
    const { url } = theirs.archives.linux_amd64;
    expect(ours.archives.linux_amd64.url.endsWith(`/${url}`)).toBe(true);
    expect(await readdir(directory)).toContain(url);
    const bytes = await readFile(join(directory, url));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(
      createHash("sha256").update(archive).digest("hex"),
    );

    await work.forget("locks");
    await work.configure({
      rc: `provider_installation {\n  filesystem_mirror {\n    path = "${out}"\n  }\n}\n`,
    });
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
  });

  it("installs a provider that lives in a function only where there are archives of it", async () => {
    const { "x-auth-token": token } = await server.fixture.authorization("acme", "reader");
    const credentials = `credentials "localhost:${server.port}" {\n  token = "${token}"\n}\n`;
    await using work = await folder("huawei.com/private-provider/absent", mirror() + credentials);
    expect(await work.run(["init"])).toMatchObject({ exitCode: 1 });
  });

  async function fetchJson(path: string): Promise<unknown> {
    return server.get(path);
  }
});
