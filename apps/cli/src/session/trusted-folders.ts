import { randomUUID } from "node:crypto";
import { readFile, realpath, rename, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import type { TrustDecision } from "@stackwright/lang-server";
import { CommandError } from "../command-error.ts";
import { withFileLock } from "./file-lock.ts";

type Decisions = Readonly<Record<string, TrustDecision>>;

/** What a user decided for folders: whether the language server starts the providers that they bring. Kept in the user's configuration. */
export class TrustedFolders {
  readonly path: string;

  constructor({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv) {
    const configuration = XDG_CONFIG_HOME || join(HOME || homedir(), ".config");
    this.path = join(configuration, "stackwright/trusted-folders.json");
  }

  /** The decision for the folder, or for the nearest one around it. */
  async decision(folder: string): Promise<TrustDecision | undefined> {
    const decisions = await this.#read();
    for (let at = await real(folder); ; at = dirname(at)) {
      if (Object.hasOwn(decisions, at)) return decisions[at];
      if (at === dirname(at)) return undefined;
    }
  }

  /** Keeps a decision; undefined takes that of the folder and of those below away. */
  async remember(folder: string, decision: TrustDecision | undefined): Promise<void> {
    const at = await real(folder);
    await withFileLock(this.path, async () => this.#replace(at, decision));
  }

  async #replace(at: string, decision: TrustDecision | undefined): Promise<void> {
    const below = at.endsWith(sep) ? at : `${at}${sep}`;
    const others = Object.entries(await this.#read()).filter(
      ([path]) => path !== at && (decision !== undefined || !path.startsWith(below)),
    );
    const decisions: Decisions = {
      ...Object.fromEntries(others),
      ...(decision !== undefined && { [at]: decision }),
    };
    const partial = `${this.path}.${randomUUID()}`;
    await writeFile(partial, `${JSON.stringify(decisions, undefined, 2)}\n`, { mode: 0o600 });
    await rename(partial, this.path);
  }

  async #read(): Promise<Decisions> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
      throw new CommandError(`Cannot read ${this.path}: ${(cause as Error).message}.`, { cause });
    }
    try {
      const decisions: unknown = JSON.parse(text);
      if (typeof decisions === "object" && decisions !== null) {
        const values = Object.values(decisions);
        if (values.every((one) => one === "trusted" || one === "refused")) {
          return decisions as Decisions;
        }
      }
    } catch {
      // Reported below, as everything that was not written by this.
    }
    throw new CommandError(`The file of trusted folders ${this.path} is not valid.`, {
      advice: "Repair it, or remove it and answer again.",
    });
  }
}

/** Links lead to what is trusted, wherever they are. */
async function real(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder));
}
