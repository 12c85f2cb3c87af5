import { readFile, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";

/** How a plug-in is started. */
export interface RuntimeProgram {
  readonly command: string;
  /** Before those of the protocol. @default none */
  readonly args?: readonly string[];
  /** Of one that is built when it starts, in milliseconds. @default that of the host */
  readonly startTimeoutMs?: number;
}

/** A build with Pulumi's SDK for Go takes minutes the first time. */
const BUILD_TIMEOUT_MS = 600_000;

/** What is to be done about runtimes of which nothing is run here. */
const OTHERS: Readonly<Record<string, string>> = {
  dotnet: "dotnet publish --self-contained",
  java: "a native image of GraalVM",
  yaml: "pulumi package gen-sdk of a package in another language",
};

/**
 * How the plug-in in a folder is started by the runtime that its `PulumiPlugin.yaml` names, or why it is not; undefined where there
 * is no such file.
 *
 * Source: Pulumi's plug-ins in languages.
 */
export async function runtimeProgram(
  folder: string,
): Promise<RuntimeProgram | { readonly refused: string } | undefined> {
  const file = await readFile(join(folder, "PulumiPlugin.yaml"), "utf8").catch(() => "");
  const runtime = /^runtime:[ \t]*(?:\r?\n(?:[ \t]+.*\r?\n)*?[ \t]+name:[ \t]*)?["']?(\w+)/m.exec(
    file,
  )?.[1];
  switch (runtime) {
    case undefined:
      return undefined;
    case "nodejs":
      return nodeProgram(folder);
    case "python":
      return pythonProgram(folder, file);
    case "go":
      return goProgram(folder, file);
    default: {
      const how = Object.hasOwn(OTHERS, runtime) ? ` (${OTHERS[runtime]})` : "";
      return refused(
        folder,
        `has the runtime "${runtime}", which is not supported: install a version of it that is an executable${how}`,
      );
    }
  }
}

async function nodeProgram(folder: string) {
  for (const main of [await mainOf(folder), "index.js", "index.ts"]) {
    if (main !== undefined && (await isFile(join(folder, main)))) {
      return { command: process.execPath, args: [join(folder, main)] };
    }
  }
  return refused(folder, "has neither main in its package.json nor index.js or index.ts");
}

/** Where tools for Python keep the virtual environment of a folder, by the option `toolchain`. */
const VIRTUAL_ENVIRONMENTS: Readonly<Record<string, string>> = {
  pip: "venv",
  poetry: ".venv",
  uv: ".venv",
};

/**
 * The module `__main__` of the folder, by the Python of its virtual environment: the one that the plug-in names, or that its tool makes, in the
 * folder or beside it under the name of the folder and `.venv`. The one beside it is no part of the files that the lock file has the
 * hash of. Without one it is the Python of `PATH`.
 */
async function pythonProgram(folder: string, file: string) {
  // Without bytecode, which would be new files in the folder: its hash is compared with the lock file.
  const args = ["-B", "-u", folder];
  if (!(await isFile(join(folder, "__main__.py")))) return refused(folder, "has no __main__.py");
  const toolchain = optionOf(file, "toolchain") ?? "pip";
  const made = Object.hasOwn(VIRTUAL_ENVIRONMENTS, toolchain)
    ? VIRTUAL_ENVIRONMENTS[toolchain]
    : undefined;
  if (made === undefined) {
    const known = Object.keys(VIRTUAL_ENVIRONMENTS).join(", ");
    return refused(folder, `has the toolchain "${toolchain}", and there are ${known}`);
  }
  const named = optionOf(file, "virtualenv");
  const beside = `${folder}.venv`;
  for (const environment of [beside, resolve(folder, named ?? made)]) {
    const python = join(environment, "bin", "python");
    if (await isFile(python)) return { command: python, args };
  }
  const python = await firstInPath("python3", "python");
  if (python === undefined) return refused(folder, "is run by Python: install python3");
  if (named === undefined) return { command: python, args };
  const install = (await isFile(join(folder, "requirements.txt")))
    ? `-r "${join(folder, "requirements.txt")}"`
    : `"${folder}"`;
  return refused(
    folder,
    `names the virtual environment ${named}, which is not there: ${python} -m venv "${beside}" && "${join(beside, "bin", "pip")}" install ${install}`,
  );
}

/** The program that the plug-in says is built of it, else what Go builds of the folder. */
async function goProgram(folder: string, file: string) {
  const named = optionOf(file, "binary");
  if (named !== undefined) {
    const command = join(folder, named);
    return (await isFile(command)) ? { command } : refused(folder, `has no program ${named}`);
  }
  if (!(await isFile(join(folder, "go.mod")))) return refused(folder, "has no go.mod");
  return (await firstInPath("go")) !== undefined
    ? { command: "go", args: ["run", "-C", folder, "."], startTimeoutMs: BUILD_TIMEOUT_MS }
    : refused(folder, "is built by Go when it is used: install Go, or a version with its program");
}

function refused(folder: string, why: string): { readonly refused: string } {
  return { refused: `${folder} ${why}.` };
}

/** An option of the runtime. */
function optionOf(file: string, name: string): string | undefined {
  return new RegExp(`^\\s+${name}:\\s*["']?([^\\s"'#]+)`, "m").exec(file)?.[1];
}

/** The file that a package says is its program. */
async function mainOf(folder: string): Promise<string | undefined> {
  try {
    const { main } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
      readonly main?: unknown;
    };
    return typeof main === "string" ? main : undefined;
  } catch {
    return undefined;
  }
}

/** The first of these programs that `PATH` has. */
async function firstInPath(...programs: readonly string[]): Promise<string | undefined> {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const program of programs) {
    const found = await Promise.all(folders.map(async (folder) => isFile(join(folder, program))));
    if (found.includes(true)) return program;
  }
  return undefined;
}

export async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
