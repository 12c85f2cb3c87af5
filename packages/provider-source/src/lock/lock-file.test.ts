import { describe, expect, it } from "vitest";
import { ProviderAddress } from "../address/provider-address.ts";
import { parsePackageHash } from "../hash/package-hash.ts";
import { readAnswers } from "../testing/oracle/fixtures.ts";
import { LOCK_SCENARIOS } from "../testing/oracle/lock-scenario.ts";
import { replayLockFile } from "../testing/oracle/replay-lock-file.ts";
import { VersionConstraints } from "../version/constraints.ts";
import { Version } from "../version/version.ts";
import { LockFile } from "./lock-file.ts";
import { parseLockFile } from "./lock-parser.ts";
import { checkableHashes, createProviderLock } from "./provider-lock.ts";

const recorded = await readAnswers();
const address = ProviderAddress.parse("example.com/test/a");
const version = Version.parse("1.0.0");
const constraints = VersionConstraints.any;
const h1 = (text: string) => parsePackageHash(`h1:${text}`);

describe("lock files of the command", () => {
  it("are recorded for every story", () => {
    expect(recorded.lockFiles.map(({ name }) => name)).toEqual(
      LOCK_SCENARIOS.map(({ name }) => name).sort(),
    );
  });

  it.each(recorded.lockFiles)("$name: comes out byte for byte the same here", async (answer) => {
    const scenario = LOCK_SCENARIOS.find(({ name }) => name === answer.name);
    expect(scenario).toBeDefined();
    if (scenario !== undefined) expect(await replayLockFile(scenario, answer)).toBe(answer.after);
  });

  it.each(recorded.lockFiles.filter(({ name }) => !/only-constraints|nothing/.test(name)))(
    "$name: is the same when read and written again",
    ({ after }) => {
      const { locks, warnings } = parseLockFile(after);
      expect(locks.toString()).toBe(after);
      expect(warnings).toEqual([]);
    },
  );
});

describe("lock files", () => {
  it("sort and thin out hashes and providers", () => {
    const locks = LockFile.of([
      createProviderLock({ address: ProviderAddress.parse("b.example/x/y"), version, constraints }),
      createProviderLock({ address, version, constraints, hashes: [h1("b"), h1("a"), h1("b")] }),
    ]);
    expect([...locks.providers.keys()]).toEqual(["b.example/x/y", "example.com/test/a"]);
    expect(locks.get(address)?.hashes).toEqual(["h1:a", "h1:b"]);
    expect(locks.toString()).toBe(
      `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "b.example/x/y" {
  version = "1.0.0"
}

provider "example.com/test/a" {
  version = "1.0.0"
  hashes = [
    "h1:a",
    "h1:b",
  ]
}
`,
    );
  });

  it("keep only hashes that can be checked when the same version is installed again", () => {
    const hashes = ["h1:old", "zh:old", "h2:old"].map(parsePackageHash);
    const before = LockFile.of([createProviderLock({ address, version, constraints, hashes })]);
    const lock = before.get(address);
    expect(lock && checkableHashes(lock)).toEqual(["h1:old", "zh:old"]);
    const installation = { address, version, constraints, installed: h1("new") };
    expect(before.recordInstallation(installation).get(address)?.hashes).toEqual([
      "h1:new",
      "h1:old",
      "zh:old",
    ]);
  });

  it("keep all hashes when those of other platforms are added", () => {
    const hashes = ["h1:old", "h2:old"].map(parsePackageHash);
    const before = LockFile.of([createProviderLock({ address, version, constraints, hashes })]);
    const after = before.addPlatformHashes({ address, version, constraints, hashes: [h1("new")] });
    expect(after.get(address)?.hashes).toEqual(["h1:new", "h1:old", "h2:old"]);
    expect(before.get(address)?.hashes).toEqual(["h1:old", "h2:old"]);
  });

  it("select the same only with equal versions and hashes, whatever the constraints", () => {
    const lock = { address, version, constraints, hashes: [h1("a")] };
    const one = LockFile.of([createProviderLock(lock)]);
    const same = (change: object) =>
      one.selectsSame(LockFile.of([createProviderLock({ ...lock, ...change })]));
    expect(same({ constraints: VersionConstraints.parse(">= 1") })).toBe(true);
    expect(same({ version: Version.parse("1.0.0+a") })).toBe(false);
    expect(same({ hashes: [h1("b")] })).toBe(false);
    expect(same({ hashes: [] })).toBe(false);
    expect(one.selectsSame(LockFile.empty)).toBe(false);
    expect(LockFile.empty.selectsSame(LockFile.empty)).toBe(true);
  });

  it("have no entries for providers without versions", () => {
    for (const source of ["terraform.io/builtin/terraform", "-/aws"]) {
      const lock = { address: ProviderAddress.parse(source), version, constraints };
      expect(() => createProviderLock(lock)).toThrow(
        expect.objectContaining({ code: "PROVIDER_SOURCE_ADDRESS_INVALID" }),
      );
    }
  });
});
