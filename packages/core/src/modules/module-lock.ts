import { readFile } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import { replaceFile } from "./module-manifest.ts";

/** Name of the lock file of modules, in the directory of the root module. */
export const MODULE_LOCK_NAME = ".stackwright.modules.lock.hcl";

/** What a source was resolved to. */
export interface LockedModule {
  /** The address of the package, without credentials. */
  readonly address: string;
  /** The constraint of the call, of modules of a registry. */
  readonly constraints?: string;
  /** Of modules of a registry. */
  readonly version?: string;
  /** Of git repositories. */
  readonly commit?: string;
  /** Hash of the content, such as `h1:...`. */
  readonly hash: string;
}

const FIELDS = ["constraints", "version", "commit", "hash"] as const;
const HEADER = `# "stackwright init" maintains this file. Manual edits may be lost in future updates.
# Commit it: it keeps the versions of modules and the hashes of their content.
`;

/** Versions and hashes of the modules of one configuration. Immutable. */
export class ModuleLock {
  static readonly empty = new ModuleLock([]);
  readonly #modules: ReadonlyMap<string, LockedModule>;

  private constructor(modules: Iterable<LockedModule>) {
    const sorted = [...modules].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    this.#modules = new Map(sorted.map((module) => [keyOf(module), module]));
  }

  static of(modules: Iterable<LockedModule>): ModuleLock {
    return new ModuleLock(modules);
  }

  /** Reads the text of a lock file. `ENGINE_CONFIG_INVALID` with its line where it is damaged. */
  static parse(text: string, name: string = MODULE_LOCK_NAME): ModuleLock {
    const modules: LockedModule[] = [];
    let open: Record<string, string> | undefined;
    for (const [at, line] of text.split("\n").entries()) {
      const content = line.trim();
      if (content === "" || content.startsWith("#")) continue;
      const header = unquote(/^module ("(?:[^"\\]|\\.)*") \{$/.exec(content)?.[1]);
      const [, field = "", quoted] = /^(\w+)\s*=\s*("(?:[^"\\]|\\.)*")$/.exec(content) ?? [];
      const value = unquote(quoted);
      if (header !== undefined && open === undefined) open = { address: header };
      else if (content === "}" && open?.["hash"] !== undefined) {
        modules.push(open as unknown as LockedModule);
        open = undefined;
      } else if (
        open !== undefined &&
        value !== undefined &&
        FIELDS.some((known) => known === field)
      ) {
        open[field] = value;
      } else {
        const message = `${name}:${at + 1}: the lock file of modules is damaged; restore it, or remove it and run "stackwright init"`;
        throw new EngineError("ENGINE_CONFIG_INVALID", message);
      }
    }
    return new ModuleLock(modules);
  }

  /** What exactly this call was resolved to. */
  exact(address: string, constraints = ""): LockedModule | undefined {
    return this.#modules.get(keyOf({ address, constraints }));
  }

  /** All that a package was resolved to, for calls with other constraints. */
  all(address: string): readonly LockedModule[] {
    return [...this.#modules.values()].filter((module) => module.address === address);
  }

  /** In the order of the file. */
  entries(): readonly LockedModule[] {
    return [...this.#modules.values()];
  }

  toString(): string {
    const blocks = [...this.#modules.values()].map((module) => {
      const fields = FIELDS.filter((name) => (module[name] ?? "") !== "");
      const width = Math.max(...fields.map((name) => name.length));
      const lines = fields.map(
        (name) => `  ${name.padEnd(width)} = ${JSON.stringify(module[name])}\n`,
      );
      return `\nmodule ${JSON.stringify(module.address)} {\n${lines.join("")}}\n`;
    });
    return blocks.length === 0 ? "" : HEADER + blocks.join("");
  }
}

function keyOf({
  address,
  constraints = "",
}: Pick<LockedModule, "address" | "constraints">): string {
  return `${address}\0${constraints}`;
}

/** The text in quotes; undefined where what is in them is none, such as an escape that JSON does not have. */
function unquote(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** The lock file at a path; an empty lock where there is none. */
export async function readModuleLock(path: string): Promise<ModuleLock> {
  try {
    return ModuleLock.parse(await readFile(path, "utf8"), path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ModuleLock.empty;
    throw error;
  }
}

export async function writeModuleLock(path: string, lock: ModuleLock): Promise<void> {
  await replaceFile(path, lock.toString());
}
