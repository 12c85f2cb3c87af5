import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findPostgres } from "./postgres-installation.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stackwright-installation-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function install(major: string, version: string, programs = ["initdb", "postgres"]): void {
  const bin = join(folder, major, "bin");
  mkdirSync(bin, { recursive: true });
  for (const program of programs) {
    writeFileSync(join(bin, program), `#!/bin/sh\necho "${program} (PostgreSQL) ${version}"\n`);
    chmodSync(join(bin, program), 0o755);
  }
}

const system = () => findPostgres(folder).filter(({ source }) => source === "system");

describe("findPostgres", () => {
  it("finds all versions of the distribution, oldest first", () => {
    install("9.6", "9.6.24");
    install("15", "15.18 (Debian 15.18-0+deb12u1)");
    install("17", "17.2");
    expect(system()).toEqual([
      { version: "9.6", major: 9, bin: join(folder, "9.6/bin"), source: "system" },
      { version: "15.18", major: 15, bin: join(folder, "15/bin"), source: "system" },
      { version: "17.2", major: 17, bin: join(folder, "17/bin"), source: "system" },
    ]);
  });

  it("passes over what has only client programs, and what does not run", () => {
    install("14", "14.1", ["psql", "initdb"]);
    install("16", "16.1");
    writeFileSync(join(folder, "16/bin/postgres"), "#!/bin/sh\nexit 1\n");
    expect(system()).toEqual([]);
  });

  it("finds nothing where there is no such folder", () => {
    rmSync(folder, { recursive: true });
    expect(system()).toEqual([]);
    mkdirSync(folder);
  });
});
