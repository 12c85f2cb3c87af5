import { spawnSync } from "node:child_process";
import { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";

const STEPS: readonly (readonly string[])[] = [
  ["update", "-qq"],
  ["install", "-y", "-qq", "--no-install-recommends", "postgresql"],
];
const STEP_TIMEOUT_MS = 5 * 60_000;

/** What the machine is asked; a test answers in its place. */
export interface Machine {
  readonly isRoot: boolean;
  readonly findPostgres: () => readonly PostgresInstallation[];
  /** Runs `apt-get`; returns what was wrong, in a few words, or undefined. */
  readonly aptGet: (args: readonly string[]) => string | undefined;
}

const THIS_MACHINE: Machine = {
  isRoot: process.getuid?.() === 0,
  findPostgres: () => findPostgres(),
  aptGet,
};

/**
 * The distribution's PostgreSQL, installed by `apt-get` where it is missing and we are root on a system that has
 * `apt-get`. Otherwise undefined, and `say` receives the reason in one sentence.
 */
export function ensurePostgres(
  say: (text: string) => void,
  machine: Machine = THIS_MACHINE,
): PostgresInstallation | undefined {
  const find = () => machine.findPostgres().find(({ source }) => source === "system");
  const found = find();
  if (found) return found;
  if (!machine.isRoot || machine.aptGet(["--version"]) !== undefined) {
    say("PostgreSQL is not installed; `apt-get install postgresql` as root would add it");
    return undefined;
  }
  for (const args of STEPS) {
    say(`apt-get ${args.join(" ")}`);
    const problem = machine.aptGet(args);
    if (problem !== undefined) {
      say(`PostgreSQL could not be installed: apt-get ${args[0]}: ${problem}`);
      return undefined;
    }
  }
  const installed = find();
  if (!installed)
    say("PostgreSQL was installed, but its server programs are not where they belong");
  return installed;
}

/** Runs `apt-get`; returns what was wrong, in a few words, or undefined. */
export function aptGet(args: readonly string[]): string | undefined {
  const { status, error, stderr } = spawnSync("apt-get", args, {
    encoding: "utf8",
    timeout: STEP_TIMEOUT_MS,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (status === 0) return undefined;
  return error?.message ?? stderr.trim().split("\n").at(-1) ?? "";
}
