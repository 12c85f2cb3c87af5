import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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
    expect(() => publicAddress({ repository })).toThrow("an https: URL that everybody can open");
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
  expect(metadataProblems(scratch.path)[0]).toContain("everybody can open");
  await write("package.json", { repository: REPOSITORY });
  await write("packages/tool/package.json", COMPLETE);
  expect(metadataProblems(scratch.path)).toEqual([]);
});

it("the packages of this repository lack nothing", () => {
  expect(metadataProblems(ROOT).filter((problem) => problem.includes("/package.json "))).toEqual(
    [],
  );
});
