import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BlobCharge } from "./blob-engine.ts";
import { quotaExceeded } from "./checks.ts";

// Which accounts a blob in a directory counts against: empty files in the folder of the blob, which come and go
// with it. What the blobs of an owner add up to is read once per process, and only where there is a quota.

const PREFIX = "owner-";

/** The accounting of a directory of blobs. Its caller excludes concurrent calls. */
export class DirectoryOwners {
  readonly #blobs: string;
  #used: Map<string, number> | undefined;

  /** @param blobs the folder of the blobs */
  constructor(blobs: string) {
    this.#blobs = blobs;
  }

  /**
   * Lets a blob count against an owner, by a file in `folder`: that of the blob, or of the upload that becomes it.
   * `STORAGE_QUOTA_EXCEEDED`, with nothing changed, when it does not fit.
   *
   * @returns whether the blob begins to count; {@link add} then follows once it exists
   */
  async claim(folder: string, charge: BlobCharge, size: number): Promise<boolean> {
    const file = join(folder, fileOf(charge.owner));
    if ((await stat(file).catch(() => undefined)) !== undefined) return false;
    if (charge.quotaBytes !== undefined) {
      const used = (await this.#load()).get(charge.owner) ?? 0;
      if (used + size > charge.quotaBytes) throw quotaExceeded(charge, used, size);
    }
    await writeFile(file, "", { mode: 0o600 });
    return true;
  }

  /** The owners that a blob counts against. */
  async ownersOf(folder: string): Promise<readonly string[]> {
    const names = await readdir(folder).catch(() => []);
    return names.flatMap((name) => (name.startsWith(PREFIX) ? [ownerOf(name)] : []));
  }

  /** Notes that a blob of so many bytes counts against owners; fewer, if negative. */
  add(owners: readonly string[], size: number): void {
    for (const owner of owners) this.#used?.set(owner, (this.#used.get(owner) ?? 0) + size);
  }

  async #load(): Promise<ReadonlyMap<string, number>> {
    if (this.#used !== undefined) return this.#used;
    const used = new Map<string, number>();
    for (const group of await readdir(this.#blobs)) {
      for (const sha256 of await readdir(join(this.#blobs, group))) {
        const folder = join(this.#blobs, group, sha256);
        const owners = await this.ownersOf(folder);
        if (owners.length === 0) continue;
        const { size } = await stat(join(folder, "data"));
        for (const owner of owners) used.set(owner, (used.get(owner) ?? 0) + size);
      }
    }
    this.#used = used;
    return used;
  }
}

function fileOf(owner: string): string {
  return PREFIX + Buffer.from(owner).toString("hex");
}

function ownerOf(file: string): string {
  return Buffer.from(file.slice(PREFIX.length), "hex").toString();
}
