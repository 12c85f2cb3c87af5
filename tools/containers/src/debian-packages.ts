import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { requireCommand } from "@stackwright-tools/processes";

/** Programs that make images without a registry, and the packages of Debian that bring them. */
const PACKAGE_OF: Readonly<Record<string, string>> = {
  docker: "docker.io",
  dockerd: "docker.io",
  "docker-compose": "docker-compose",
  debootstrap: "debootstrap",
};

/** What the machine is asked; a test answers in its place. */
export interface Machine {
  readonly isRoot: boolean;
  readonly has: (program: string) => boolean;
  readonly aptGet: (args: readonly string[]) => Promise<unknown>;
}

const THIS_MACHINE: Machine = {
  isRoot: process.getuid?.() === 0,
  has: isInPath,
  aptGet: async (args) =>
    requireCommand(["apt-get", ...args], {
      timeoutMs: 5 * 60_000,
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    }),
};

/**
 * Installs the packages of programs that are missing. Gives undefined when all are there afterwards, else in a few words
 * why not.
 */
export async function ensurePrograms(
  programs: readonly string[],
  say: (text: string) => void,
  machine: Machine = THIS_MACHINE,
): Promise<string | undefined> {
  const missing = () => programs.filter((program) => !machine.has(program));
  const wanted = missing();
  if (wanted.length === 0) return undefined;
  if (!machine.isRoot) return `${wanted.join(", ")} missing, and only root can install packages`;
  if (!machine.has("apt-get")) return `${wanted.join(", ")} missing, and there is no apt-get`;
  const packages = [...new Set(wanted.map((program) => PACKAGE_OF[program] ?? program))];
  say(`apt-get install ${packages.join(" ")}`);
  try {
    await machine.aptGet(["update", "-qq"]);
    await machine.aptGet(["install", "-y", "-qq", "--no-install-recommends", ...packages]);
  } catch (error) {
    return `${packages.join(", ")} could not be installed: ${(error as Error).message}`;
  }
  const still = missing();
  return still.length === 0 ? undefined : `${still.join(", ")} missing after the installation`;
}

function isInPath(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
