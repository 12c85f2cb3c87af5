import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";

/** Folders that are whole systems. */
interface DebianRoots {
  /** As little as there can be, with what Node is linked with, and git. */
  readonly base: string;
  /** The same with the server of PostgreSQL. */
  readonly postgres: string;
}

const PACKAGES = {
  base: ["ca-certificates", "libstdc++6", "git"],
  postgres: ["ca-certificates", "libstdc++6", "postgresql"],
} as const;

/** What only takes room in an image, and the database that the package makes for itself. */
const USELESS = [
  "var/cache/apt/archives",
  "var/lib/apt/lists",
  "var/lib/postgresql",
  "etc/postgresql",
  "var/log",
  "usr/share/doc",
  "usr/share/info",
  "usr/share/locale",
  "usr/share/man",
];

const LIMIT_MS = 10 * 60_000;

/**
 * Systems of Debian made from its packages, from where this machine gets its own. They are kept in `cache` and made once;
 * a folder appears whole or not at all. Needs root and `debootstrap`.
 */
export async function debianRoots(
  cache: string,
  say: (text: string) => void,
): Promise<DebianRoots> {
  const suite = debianSuite(await readFile("/etc/os-release", "utf8"));
  const mirror = debianMirror(await readSources());
  const key = createHash("sha256")
    .update(JSON.stringify([suite, process.arch, PACKAGES, USELESS]))
    .digest("hex")
    .slice(0, 16);
  const folder = join(cache, `debian-${suite}-${key}`);
  const roots = { base: join(folder, "base"), postgres: join(folder, "postgres") };
  if (existsSync(folder)) return roots;

  await mkdir(cache, { recursive: true });
  const making = `${folder}.${process.pid}`;
  const archives = join(cache, "debian-archives");
  await mkdir(making, { recursive: true });
  await mkdir(archives, { recursive: true });
  try {
    for (const name of ["base", "postgres"] as const) {
      say(`debootstrap: ${suite} with ${PACKAGES[name].join(", ")}`);
      const root = join(making, name);
      await requireCommand(
        [
          "debootstrap",
          "--variant=minbase",
          `--cache-dir=${archives}`,
          `--include=${PACKAGES[name].join(",")}`,
          suite,
          root,
          ...(mirror === undefined ? [] : [mirror]),
        ],
        { timeoutMs: LIMIT_MS },
      );
      for (const useless of USELESS) {
        await requireCommand(["find", join(root, useless), "-mindepth", "1", "-delete"]).catch(
          () => {
            // Not every system has every folder.
          },
        );
      }
      await chmod(root, 0o755);
    }
    await rename(making, folder);
  } finally {
    await rm(making, { recursive: true, force: true });
    await rm(archives, { recursive: true, force: true });
  }
  return roots;
}

/** Debian's name of the release that this machine is, or of one that it can be made of. */
export function debianSuite(osRelease: string): string {
  const value = (name: string) =>
    new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  return value("ID") === "debian" && value("VERSION_CODENAME") !== ""
    ? value("VERSION_CODENAME")
    : "bookworm";
}

/** Where this machine gets packages of Debian, in either form that apt knows; undefined leaves the choice to debootstrap. */
export function debianMirror(sources: string): string | undefined {
  const places = sources
    .split("\n")
    .flatMap(
      (line) =>
        /^URIs:\s*(\S+)/.exec(line)?.[1] ?? /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/.exec(line)?.[1] ?? [],
    );
  return places.find((place) => /^https?:\/\/.*\/debian\/?$/.test(place));
}

async function readSources(): Promise<string> {
  const files = ["/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources"];
  const texts = await Promise.all(
    files.map(async (file) => readFile(file, "utf8").catch(() => "")),
  );
  return texts.join("\n");
}
