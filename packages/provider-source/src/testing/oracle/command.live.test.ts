import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  archiveFromBytes,
  hashArchive,
  type PackEntry,
  Platform,
  ProviderAddress,
  ProviderSourceError,
  packArchive,
  parseLockFile,
  Version,
  VersionConstraints,
} from "../../index.ts";
import { askAddresses } from "./ask-addresses.ts";
import { askArchiveHashes } from "./ask-archive-hash.ts";
import { askConstraints, type ConstraintQuestion } from "./ask-constraints.ts";
import { askLockFile } from "./ask-lock-file.ts";
import { findCommand } from "./command.ts";
import { readAnswers } from "./fixtures.ts";
import { LOCK_SCENARIOS } from "./lock-scenario.ts";
import { rawZip } from "./raw-zip.ts";
import { replayLockFile, STORY_PLATFORM } from "./replay-lock-file.ts";

const found = await findCommand();
const onStoryPlatform = Platform.ofNode().toString() === STORY_PLATFORM;
const missing =
  "missing" in found
    ? found.missing
    : onStoryPlatform
      ? undefined
      : `this is not ${STORY_PLATFORM}`;
if (missing !== undefined) console.log(`skipped: comparison with the real command, as ${missing}`);
const command = "missing" in found ? { path: "", version: "" } : found;
const scale = Number(process.env.STACKWRIGHT_RUNS ?? 1);
const recorded = await readAnswers();

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (ProviderSourceError.is(error)) return null;
    throw error;
  }
}

function sample<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
  const { seed } = fc.readConfigureGlobal();
  return fc.sample(arbitrary, { numRuns: count * scale, ...(seed === undefined ? {} : { seed }) });
}

describe.skipIf(missing !== undefined)("the recorded answers", () => {
  it("are what the command says of addresses today", async () => {
    const sources = recorded.addresses.map(({ source }) => source);
    expect(await askAddresses(command, sources)).toEqual(recorded.addresses);
  });

  it("are what the command says of constraints today", async () => {
    expect(await askConstraints(command, recorded.constraints)).toEqual(recorded.constraints);
  });
});

describe.skipIf(missing !== undefined)("lock files", () => {
  it.each(LOCK_SCENARIOS)("$name: come out byte for byte the same", async (scenario) => {
    const answer = await askLockFile(command, scenario);
    expect(await replayLockFile(scenario, answer)).toBe(answer.after);
    const bearTimes = scenario.packages.some(({ packed }) => packed);
    const record = recorded.lockFiles.find(({ name }) => name === scenario.name);
    if (!bearTimes) expect(answer.after).toBe(record?.after);
  });
});

describe.skipIf(missing !== undefined)("made-up questions", () => {
  it("about addresses are answered alike", async () => {
    const label = fc.stringMatching(/^[a-zA-Z0-9-]{1,6}$/);
    const letters = "aZ09-_.éÜßЯ例אا१ﬀＡ²ıİſ\u00ad\u0301\u200d😀".match(/./gu) ?? [];
    const odd = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 4 });
    const part = fc.oneof(label, odd);
    const host = fc
      .tuple(
        fc.array(part, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("", ":80", ":443", ":x"),
      )
      .map(([labels, port]) => labels.join(".") + port);
    const source = fc
      .tuple(fc.option(host), part, part)
      .map((parts) => parts.filter((one) => one !== null).join("/"))
      // Templates in strings would be seen by the command before the source is.
      .filter((text) => !/[$%]\{/.test(text));
    const sources = [...new Set(sample(source, 600))];
    const answers = await askAddresses(command, sources);
    expect(answers.some(({ address }) => address !== null)).toBe(true);
    const different = answers.flatMap(({ source: text, address }) => {
      const ours = orNull(() => ProviderAddress.parse(text).toString());
      const stricter = ours === null && address !== null && isDegenerate(address);
      return ours === address || stricter ? [] : [{ text, address, ours }];
    });
    expect(different).toEqual([]);
  });

  /** Whether the command let something through that its own rules forbid, see STRICTER_THAN_COMMAND. */
  function isDegenerate(address: string): boolean {
    const [host = "", ...names] = address.split("/");
    const emptyLabel = host.split(":")[0]?.split(".").includes("") === true;
    return emptyLabel || names.some((name) => name === "" || /--|\./.test(name));
  }

  it("about constraints are answered alike, and printed alike", async () => {
    const number = fc.constantFrom("0", "1", "2", "10");
    const prerelease = fc.constantFrom(
      "",
      "",
      "-alpha",
      "-alpha.1",
      "-beta",
      "-beta.2",
      "-1",
      "-01",
    );
    const metadata = fc.constantFrom("", "", "", "+a", "+b.1");
    const version = fc
      .tuple(number, number, number, prerelease, metadata)
      .map(([a, b, c, pre, meta]) => `${a}.${b}.${c}${pre}${meta}`);
    const term = fc
      .tuple(
        fc.constantFrom("", "= ", "!= ", "> ", ">= ", "<", "<= ", "~> "),
        fc.array(number, { minLength: 1, maxLength: 3 }),
        prerelease,
        metadata,
      )
      .map(([operator, numbers, pre, meta]) => `${operator}${numbers.join(".")}${pre}${meta}`);
    const near = fc.array(term, { minLength: 1, maxLength: 4 }).map((terms) => terms.join(", "));
    const question: fc.Arbitrary<ConstraintQuestion> = fc.oneof(
      fc.record({ version, constraint: near }),
      // A pre-release has a chance only where it is named.
      fc
        .tuple(version, near)
        .map(([one, rest]) => ({ version: one, constraint: `${one}, ${rest}` })),
    );
    const answers = await askConstraints(command, sample(question, 500));
    for (const outcome of ["allowed", "refused"]) {
      expect(answers.filter((answer) => answer.outcome === outcome).length).toBeGreaterThan(20);
    }
    const ours = answers.map((answer) => {
      const constraints = VersionConstraints.parse(answer.constraint ?? "");
      const outcome = constraints.allows(Version.parse(answer.version)) ? "allowed" : "refused";
      return { ...answer, outcome, canonical: constraints.toString() };
    });
    expect(ours).toEqual(answers);
  });
});

describe.skipIf(missing !== undefined)("archives", () => {
  const id = {
    address: ProviderAddress.parse("example.com/test/packed"),
    version: Version.parse("1.2.3"),
    platform: Platform.parse(STORY_PLATFORM),
  };
  const executable = "terraform-provider-packed_v1.2.3";

  it.each(["deflate", "store"] as const)(
    "packed with %s are installed, with our hash",
    async (compression) => {
      const entries: PackEntry[] = [
        { path: executable, mode: 0o755, content: Buffer.from("#!/bin/sh\n") },
        { path: "docs/ü/x.md", content: Buffer.from("x".repeat(300_000)) },
        { path: "docs-a", content: Buffer.alloc(0) },
      ];
      const chunks: Uint8Array[] = [];
      const packing = packArchive(entries, { compression });
      let step = await packing.next();
      for (; step.done !== true; step = await packing.next()) chunks.push(step.value);
      const answer = await askArchiveHashes(command, id, Buffer.concat(chunks));
      expect(answer.hashes).toEqual([step.value.h1]);
      const { h1, zh } = step.value;
      expect(parseLockFile(answer.lockFile).locks.get(id.address)?.hashes).toEqual([h1, zh]);
    },
  );

  it("with entries for directories have the hash that the command gives them", async () => {
    const archive = rawZip([
      { name: "docs/", mode: 0o040755, stored: true },
      { name: "docs/a.md", content: "a" },
      { name: executable, content: "x", mode: 0o100755 },
    ]);
    const { hashes, lockFile } = await askArchiveHashes(command, id, archive);
    const { h1, zh } = await hashArchive(archiveFromBytes(archive));
    expect(hashes).toEqual([h1]);
    // Unpacked, the directory does not count, so the lock file has another hash.
    const noted = parseLockFile(lockFile).locks.get(id.address)?.hashes;
    expect(noted).toEqual([expect.stringMatching(/^h1:/), zh]);
    expect(noted).not.toContain(h1);
  });

  it("made for the tests are understood by another reader", () => {
    const bytes = rawZip(
      [
        { name: "a", content: "abc" },
        { name: "s", content: "s", stored: true },
      ],
      {
        zip64: true,
      },
    );
    const script =
      "import io,sys,zipfile;z=zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()));print(z.testzip(),z.namelist())";
    const listed = execFileSync("python3", ["-c", script], { input: bytes }).toString();
    expect(listed.trim()).toBe("None ['a', 's']");
  });
});
