import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  hashArchiveFile,
  hashDirectory,
  LockFile,
  type PackageHash,
  ProviderAddress,
  packageHasAnyHash,
  parseLockFile,
  unpackArchive,
  Version,
  VersionConstraints,
} from "../../index.ts";
import type { LockAnswer } from "./ask-lock-file.ts";
import { type LockScenario, packageKey, type ScenarioPackage } from "./lock-scenario.ts";
import { writePackageFiles } from "./write-packages.ts";

/** The platform that stories are played on. */
export const STORY_PLATFORM = "linux_amd64";

interface Offer {
  readonly address: ProviderAddress;
  readonly version: Version;
  readonly platform: string;
  readonly directory: string;
  readonly h1: PackageHash;
  readonly zh: PackageHash | undefined;
}

async function prepare(
  root: string,
  index: number,
  one: ScenarioPackage,
  archive: Uint8Array | undefined,
): Promise<Offer> {
  const directory = join(root, String(index));
  let zh: PackageHash | undefined;
  if (archive === undefined) await writePackageFiles(directory, one);
  else {
    await writeFile(`${directory}.zip`, archive);
    await unpackArchive(`${directory}.zip`, directory);
    zh = await hashArchiveFile(`${directory}.zip`);
  }
  return {
    address: ProviderAddress.parse(one.source),
    version: Version.parse(one.version),
    platform: one.platform,
    directory,
    h1: await hashDirectory(directory),
    zh,
  };
}

/**
 * Plays a story with this package in place of the command, as a small installer would: reads the
 * lock file, merges what the modules ask for, selects versions, hashes packages, notes what was
 * installed. Returns the text of the lock file at the end.
 */
export async function replayLockFile(
  scenario: LockScenario,
  given: Pick<LockAnswer, "before" | "archives">,
): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "provider-source-"));
  try {
    const offers: Offer[] = [];
    for (const [index, one] of scenario.packages.entries()) {
      offers.push(await prepare(root, index, one, given.archives.get(packageKey(one))));
    }
    const before = given.before === null ? LockFile.empty : parseLockFile(given.before).locks;
    const after = await install(scenario, offers, before);
    const unchanged = given.before !== null && after.selectsSame(before);
    return unchanged ? (given.before ?? "") : after.toString();
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function install(
  scenario: LockScenario,
  offers: readonly Offer[],
  before: LockFile,
): Promise<LockFile> {
  const asked = new Map<string, { address: ProviderAddress; constraints: VersionConstraints }>();
  for (const [source, text] of scenario.modules.flatMap((module) => Object.entries(module))) {
    const address = ProviderAddress.parse(source);
    const known = asked.get(address.toString())?.constraints ?? VersionConstraints.any;
    const more = text === null ? VersionConstraints.any : VersionConstraints.parse(text);
    const constraints = VersionConstraints.intersection(known, more);
    asked.set(address.toString(), { address, constraints });
  }

  let locks = before;
  for (const { address, constraints } of asked.values()) {
    const mine = offers.filter((offer) => offer.address.equals(address));
    const prior = scenario.action === "upgrade" ? undefined : before.get(address)?.version;
    const version = prior ?? constraints.newestMatching(mine.map((offer) => offer.version));
    const packages = mine.filter((offer) => version !== undefined && offer.version.equals(version));
    if (version === undefined || packages.length === 0) throw new Error(`no ${address.toString()}`);
    if (scenario.action === "lock") {
      const hashes = packages.map(({ h1 }) => h1);
      locks = locks.addPlatformHashes({ address, version, constraints, hashes });
      continue;
    }
    const chosen = packages.find(({ platform }) => platform === STORY_PLATFORM);
    if (chosen === undefined) throw new Error(`no package for ${STORY_PLATFORM}`);
    const lock = before.get(address);
    const checkable = lock?.version.equals(version) === true ? lock.hashes : [];
    const location = { kind: "directory", path: chosen.directory } as const;
    if (checkable.some((hash) => hash.startsWith("h1:"))) {
      if (!(await packageHasAnyHash(location, checkable)))
        throw new Error("the package was changed");
    }
    const signed = scenario.action === "signed" ? packages.flatMap(({ zh }) => zh ?? []) : [];
    locks = locks.recordInstallation({
      address,
      version,
      constraints,
      installed: chosen.h1,
      signed,
    });
  }
  return locks.retain([...asked.values()].map(({ address }) => address));
}
