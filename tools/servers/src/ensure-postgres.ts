import { spawnSync } from "node:child_process";
import { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";

const STEPS: readonly (readonly string[])[] = [
  ["update", "-qq"],
  ["install", "-y", "-qq", "--no-install-recommends", "postgresql"],
];
const STEP_TIMEOUT_MS = 5 * 60_000;

/**
 * The distribution's PostgreSQL, installed by `apt-get` where it is missing and we are root on a
 * system that has `apt-get`. Otherwise undefined, and `say` is told in one sentence why.
 */
export function ensurePostgres(say: (text: string) => void): PostgresInstallation | undefined {
  const found = systemPostgres();
  if (found) return found;
  if (process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).status !== 0) {
    say("PostgreSQL is not installed; `apt-get install postgresql` as root would add it");
    return undefined;
  }
  for (const args of STEPS) {
    say(`apt-get ${args.join(" ")}`);
    const { status, error, stderr } = spawnSync("apt-get", args, {
      encoding: "utf8",
      timeout: STEP_TIMEOUT_MS,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    if (status !== 0) {
      const word = error?.message ?? stderr.trim().split("\n").at(-1) ?? "";
      say(`PostgreSQL could not be installed: apt-get ${args[0]}: ${word}`);
      return undefined;
    }
  }
  return systemPostgres();
}

function systemPostgres(): PostgresInstallation | undefined {
  return findPostgres().find(({ source }) => source === "system");
}
