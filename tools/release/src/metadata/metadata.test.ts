import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";
import { describe, expect, it } from "vitest";
import { completePackage } from "../packages.ts";
import { completeManifest } from "./complete-manifest.ts";
import { manifestProblems, metadataProblems } from "./metadata-problems.ts";
import { publicAddress } from "./public-address.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const REPOSITORY = "https://code.acme.org/acme/tool.git";
const COMPLETE = {
  name: "@acme/tool",
  description: "A tool",
  license: "Apache-2.0",
  keywords: ["a", "b", "c"],
  engines: { node: ">=20" },
};

describe("the public address", () => {
  it("is that of the repository, with pages below it unless they are named", () => {
    expect(publicAddress({})).toBeUndefined();
    const expected = {
      repository: REPOSITORY,
      homepage: "https://code.acme.org/acme/tool#readme",
      bugs: "https://code.acme.org/acme/tool/issues",
    };
    expect(publicAddress({ repository: REPOSITORY })).toEqual(expected);
    const written = { type: "git", url: `git+${REPOSITORY}` };
    expect(publicAddress({ repository: written })).toEqual(expected);
    const named = {
      repository: REPOSITORY,
      homepage: "https://tool.acme.org/",
      bugs: { url: "https://bugs.acme.org/tool" },
    };
    expect(publicAddress(named)).toEqual({
      repository: REPOSITORY,
      homepage: "https://tool.acme.org",
      bugs: "https://bugs.acme.org/tool",
    });
  });

  it.each([
    "acme/tool",
    "http://code.acme.org/acme/tool",
    "https://someone:secret@code.acme.org/acme/tool",
    "https://localhost/acme/tool",
    "https://code.example/acme/tool",
    "https://127.0.0.1/acme/tool",
    "git@code.acme.org:acme/tool.git",
  ])("is not %s", (repository) => {
    expect(() => publicAddress({ repository })).toThrow("a public https: URL");
  });
});

it("a packed manifest names the repository, its own folder in it, and where defects are reported", () => {
  const address = publicAddress({ repository: REPOSITORY });
  expect(completeManifest(COMPLETE, "packages/tool", address ?? expect.fail())).toEqual({
    ...COMPLETE,
    homepage: "https://code.acme.org/acme/tool#readme",
    repository: { type: "git", url: `git+${REPOSITORY}`, directory: "packages/tool" },
    bugs: { url: "https://code.acme.org/acme/tool/issues" },
  });
});

it("a package is written again with a complete manifest, and the same bytes each time", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-complete-"));
  const at = (name: string) => join(scratch.path, name);
  await mkdir(at("package/bin"), { recursive: true });
  await writeFile(at("package/package.json"), JSON.stringify(COMPLETE));
  await writeFile(at("package/bin/tool"), "#!/bin/sh\n", { mode: 0o755 });
  await writeFile(at("package/README.md"), "[a](bin/tool), [b](DESIGN.md)\n");
  await requireCommand(["tar", "-czf", at("packed.tgz"), "-C", scratch.path, "package"]);
  const address = publicAddress({ repository: REPOSITORY }) ?? expect.fail();
  const settings = { folder: "packages/tool", address, version: "0.1.0", time: new Date(0) };
  for (const name of ["one.tgz", "two.tgz"]) {
    await completePackage(at("packed.tgz"), at(name), settings);
  }
  expect((await readFile(at("one.tgz"))).equals(await readFile(at("two.tgz")))).toBe(true);
  const read = ["tar", "-xzOf", at("one.tgz"), "package/package.json"] as const;
  expect(JSON.parse(await requireCommand(read))).toMatchObject({
    name: "@acme/tool",
    repository: { url: `git+${REPOSITORY}`, directory: "packages/tool" },
  });
  expect(await requireCommand(["tar", "-xzOf", at("one.tgz"), "package/README.md"])).toBe(
    "[a](bin/tool), [b](https://code.acme.org/acme/tool/blob/v0.1.0/packages/tool/DESIGN.md)\n",
  );
  await completePackage(at("packed.tgz"), at("none.tgz"), { ...settings, address: undefined });
  expect(await requireCommand(["tar", "-xzOf", at("none.tgz"), "package/README.md"])).toBe(
    "[a](bin/tool), b\n",
  );
  const listed = await requireCommand(["tar", "-tvzf", at("one.tgz")]);
  expect(listed).toMatch(/^-rwxr-xr-x .* package\/bin\/tool$/m);
});

it("a package has the same bytes in whichever order its dependencies were written", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-order-"));
  const at = (name: string) => join(scratch.path, name);
  await mkdir(at("package"));
  await writeFile(at("package/README.md"), "# Tool\n");
  const settings = { folder: "packages/tool", address: undefined, version: "0.1.0" };
  for (const names of [
    ["a", "b"],
    ["b", "a"],
  ]) {
    const dependencies = Object.fromEntries(names.map((name) => [`@acme/${name}`, "0.1.0"]));
    const manifest = { ...COMPLETE, dependencies, peerDependencies: dependencies };
    await writeFile(at("package/package.json"), JSON.stringify(manifest));
    await requireCommand(["tar", "-czf", at("packed.tgz"), "-C", scratch.path, "package"]);
    const output = at(`${names.join("")}.tgz`);
    await completePackage(at("packed.tgz"), output, { ...settings, time: new Date(0) });
  }
  expect((await readFile(at("ab.tgz"))).equals(await readFile(at("ba.tgz")))).toBe(true);
});

it("names what a manifest lacks", () => {
  expect(manifestProblems(COMPLETE)).toEqual([]);
  const { keywords: _, description: _text, ...rest } = COMPLETE;
  expect(manifestProblems({ ...rest, bugs: {}, engines: {} })).toEqual([
    'has no "description"',
    'has no "keywords": name at least three, in lower case',
    'does not say which Node it needs ("engines")',
    'has "bugs", which is that of package.json of the repository; remove it',
  ]);
  expect(manifestProblems({ ...COMPLETE, keywords: ["a", "a", "b"] })).toHaveLength(1);
});

it("is not ready without an address, and where a package lacks something", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-metadata-"));
  const write = async (path: string, manifest: object) =>
    writeFile(join(scratch.path, path), JSON.stringify(manifest));
  await mkdir(join(scratch.path, "packages/tool"), { recursive: true });
  await write("package.json", {});
  await write("packages/tool/package.json", { ...COMPLETE, license: undefined });
  expect(metadataProblems(scratch.path)).toEqual([
    expect.stringContaining("no public address of the repository is known; name it"),
    'packages/tool/package.json has no "license"',
  ]);
  await write("package.json", { repository: "https://localhost/x" });
  expect(metadataProblems(scratch.path)[0]).toContain("public https: URL");
  await write("package.json", { repository: REPOSITORY });
  await write("packages/tool/package.json", COMPLETE);
  expect(metadataProblems(scratch.path)).toEqual([]);
});

it("the packages of this repository lack nothing", () => {
  expect(metadataProblems(ROOT).filter((problem) => problem.includes("/package.json "))).toEqual(
    [],
  );
});
