import { execFileSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A small file system of its own; making one takes the rights of root. */
export class SmallDisk implements Disposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Mounts one; `undefined` without the right to. `owner` is the account that it belongs to. */
  static mount(
    mebibytes: number,
    owner?: { readonly uid: number; readonly gid: number },
  ): SmallDisk | undefined {
    const path = mkdtempSync(join(tmpdir(), "stackwright-disk-"));
    try {
      const options = `size=${mebibytes}m,mode=0700`;
      execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", path], { stdio: "pipe" });
      if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
      return new SmallDisk(path);
    } catch {
      rmdirSync(path);
      return undefined;
    }
  }

  /** Whether {@link fill} has taken its space. */
  get isFull(): boolean {
    return readdirSync(this.path).includes("ballast");
  }

  /** Takes all space that is left, but for so many bytes: what is written next ends in the midst. */
  fill(leftBytes = 0): void {
    const file = openSync(this.#ballast, "a");
    try {
      for (const size of [65_536, 4_096]) while (writeSync(file, Buffer.alloc(size)) === size);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      closeSync(file);
    }
    if (leftBytes > 0) truncateSync(this.#ballast, statSync(this.#ballast).size - leftBytes);
  }

  /** Gives the space back. */
  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  /** Lets nothing be written any more, or again; fails while something is open for writing. */
  remount(mode: "ro" | "rw"): void {
    execFileSync("mount", ["-o", `remount,${mode}`, this.path], { stdio: "pipe" });
  }

  /** Removes everything on it. */
  clear(): void {
    for (const name of readdirSync(this.path)) rmSync(join(this.path, name), { recursive: true });
  }

  [Symbol.dispose](): void {
    execFileSync("umount", ["--lazy", this.path]);
    rmdirSync(this.path);
  }

  get #ballast(): string {
    return join(this.path, "ballast");
  }
}
