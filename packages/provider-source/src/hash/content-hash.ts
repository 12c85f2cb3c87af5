import { createHash } from "node:crypto";
import { ProviderSourceError } from "../errors.ts";
import type { PackageHash } from "./package-hash.ts";

/**
 * Computes an `h1:` hash from the files of a package, which may come in any order.
 *
 * The hash is the SHA-256, in base64, of one line per file in the byte order of names: the file's
 * SHA-256 in lower-case hexadecimal, two spaces, its name with slashes, a line feed. Memory: about
 * 200 bytes per file; contents are not kept.
 */
export class ContentHash {
  readonly #files: { readonly name: Buffer; readonly sha256: string }[] = [];

  /** Takes the content of one file as it arrives; call the returned function at its end. */
  open(name: Uint8Array): { write(chunk: Uint8Array): void; close(): void } {
    // A line feed in a name could forge the lines of other files.
    if (name.includes(0x0a)) {
      const path = Buffer.from(name).toString();
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_PACKAGE_UNREADABLE",
        `The package has a file with a line feed in its name, ${JSON.stringify(path)}; rename it.`,
        { path },
      );
    }
    const hash = createHash("sha256");
    return {
      write: (chunk) => {
        hash.update(chunk);
      },
      close: () => {
        this.#files.push({ name: Buffer.from(name), sha256: hash.digest("hex") });
      },
    };
  }

  /** The hash of all files that were closed. */
  digest(): PackageHash {
    const hash = createHash("sha256");
    for (const { name, sha256 } of this.#files.toSorted((a, b) => Buffer.compare(a.name, b.name))) {
      hash.update(`${sha256}  `);
      hash.update(name);
      hash.update("\n");
    }
    return `h1:${hash.digest("base64")}` as PackageHash;
  }
}
