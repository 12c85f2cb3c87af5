import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderAddress } from "../address/provider-address.ts";
import { ProviderSourceError } from "../errors.ts";
import { parsePackageHash } from "../hash/package-hash.ts";
import { readAnswers } from "../testing/oracle/fixtures.ts";
import { VersionConstraints } from "../version/constraints.ts";
import { Version } from "../version/version.ts";
import { LockFile } from "./lock-file.ts";
import { parseLockFile } from "./lock-parser.ts";
import { createProviderLock } from "./provider-lock.ts";

const recorded = await readAnswers();
const scale = Number(process.env.STACKWRIGHT_RUNS ?? 1);

const name = fc.stringMatching(/^[a-z0-9]{1,6}$/);
const address = fc
  .tuple(fc.constantFrom("example.com", "пример.example", "a.example:8443"), name, name)
  .map((parts) => ProviderAddress.parse(parts.join("/")));
const version = fc
  .tuple(fc.nat(9), fc.nat(9), fc.nat(9), fc.constantFrom("", "-rc.1", "+b.2"))
  .map(([a, b, c, suffix]) => Version.parse(`${a}.${b}.${c}${suffix}`));
const constraints = fc
  .array(fc.constantFrom(">= 1.0", "< 3", "~> 1.2", "~> 2.0.1", "!= 1.5.0", "1.0.0-rc.1"))
  .map((parts) =>
    parts.length === 0 ? VersionConstraints.any : VersionConstraints.parse(parts.join(",")),
  );
const value = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '"',
      "\\",
      "$",
      "%",
      "{",
      "}",
      "\n",
      "\t",
      "\r",
      "#",
      "/",
      "*",
      "é",
      "\u{1f600}",
    ),
    fc.integer({ min: 1, max: 0x3000 }).map((code) => String.fromCodePoint(code)),
  ),
});
// HCL composes strings when it reads them, so only composed ones can come back.
const hash = fc
  .tuple(fc.constantFrom("h1", "zh", "h2"), value)
  .map(([scheme, text]) => parsePackageHash(`${scheme}:${text}`.normalize("NFC")));
const locks = fc
  .array(fc.record({ address, version, constraints, hashes: fc.array(hash, { maxLength: 4 }) }), {
    maxLength: 4,
  })
  .map((all) => LockFile.of(all.map(createProviderLock)));

describe("lock files", () => {
  it("are the same when written and read again", () => {
    fc.assert(
      fc.property(locks, (all) => {
        const text = all.toString();
        const again = parseLockFile(text);
        expect(again.warnings).toEqual([]);
        expect(again.locks.toString()).toBe(text);
        expect(again.locks.selectsSame(all)).toBe(true);
        expect([...again.locks.providers.values()].map(String)).toEqual(
          [...all.providers.values()].map(String),
        );
      }),
      { numRuns: 300 * scale },
    );
  });

  it("are read or refused with a place in the text, however they are damaged", () => {
    const texts = recorded.lockFiles.flatMap(({ before, after }) => [after, before ?? ""]);
    const pieces = fc.constantFrom(
      ...'"{}[],=\\#/*$%\n\r\t x\u0301é'.split(""),
      "/*",
      "*/",
      "${",
      "<<",
    );
    const edit = fc.record({
      at: fc.nat(2000),
      cut: fc.nat(20),
      put: fc.string({ unit: pieces, maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        (text, edits) => {
          let damaged = text;
          for (const { at, cut, put } of edits) {
            const start = at % (damaged.length + 1);
            damaged = damaged.slice(0, start) + put + damaged.slice(start + cut);
          }
          try {
            const { locks: read } = parseLockFile(damaged);
            expect(parseLockFile(read.toString()).locks.toString()).toBe(read.toString());
          } catch (error) {
            if (!ProviderSourceError.is(error, "PROVIDER_SOURCE_LOCK_FILE_INVALID")) throw error;
            const lines = damaged.split("\n");
            expect(error.details.problems.length).toBeGreaterThan(0);
            for (const { line, column } of error.details.problems) {
              expect(line).toBeGreaterThanOrEqual(1);
              expect(line).toBeLessThanOrEqual(lines.length);
              expect(column).toBeGreaterThanOrEqual(1);
              expect(column).toBeLessThanOrEqual((lines[line - 1] ?? "").length + 1);
            }
          }
        },
      ),
      { numRuns: 1000 * scale },
    );
  });

  it("are read in time that grows with their size, also on one line", () => {
    const many = Array.from({ length: 20_000 }, (_, i) => `"h1:${i}"`).join(", ");
    const { locks: read } = parseLockFile(
      `provider "example.com/test/a" {\n  version = "1.0.0"\n  hashes = [${many}]\n}\n`,
    );
    expect([...read.providers.values()][0]?.hashes).toHaveLength(20_000);
  });
});
