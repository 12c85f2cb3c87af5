import { ProviderSourceError, quoteForMessage } from "./errors.ts";
import { compareUtf8 } from "./order.ts";

const OS_NAMES: Readonly<Record<string, string>> = { win32: "windows", sunos: "solaris" };

const ARCH_NAMES: Readonly<Record<string, string>> = {
  x64: "amd64",
  ia32: "386",
  mipsel: "mipsle",
  loong64: "loong64",
};

/** What a package is built for: operating system and architecture, in the names Go has for them. */
export class Platform {
  /** Such as `linux`, `darwin`, `windows`. */
  readonly os: string;
  /** Such as `amd64`, `arm64`, `386`. */
  readonly arch: string;

  constructor(os: string, arch: string) {
    this.os = os;
    this.arch = arch;
    Object.freeze(this);
  }

  /**
   * Reads `os_arch`, such as `linux_amd64`: two words of lower-case letters and digits. Which words
   * exist is not asked. Throws `PROVIDER_SOURCE_PLATFORM_INVALID`.
   */
  static parse(this: void, text: string): Platform {
    const match = /^([a-z0-9]+)_([a-z0-9]+)$/.exec(text);
    if (match?.[1] === undefined || match[2] === undefined) {
      throw new ProviderSourceError(
        "PROVIDER_SOURCE_PLATFORM_INVALID",
        `Invalid platform ${quoteForMessage(text)}: it must be operating system and architecture with an underscore between them, as in "linux_amd64".`,
        { input: text },
      );
    }
    return new Platform(match[1], match[2]);
  }

  /** The platform of a Node process; of this one by default. */
  static ofNode(
    os: string = process.platform,
    arch: string = process.arch,
    endianness?: "LE" | "BE",
  ): Platform {
    const little = endianness ?? (new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? "LE" : "BE");
    const goArch = arch === "ppc64" && little === "LE" ? "ppc64le" : (ARCH_NAMES[arch] ?? arch);
    return new Platform(OS_NAMES[os] ?? os, goArch);
  }

  equals(other: Platform): boolean {
    return this.os === other.os && this.arch === other.arch;
  }

  static compare(this: void, a: Platform, b: Platform): number {
    return compareUtf8(a.os, b.os) || compareUtf8(a.arch, b.arch);
  }

  toString(): string {
    return `${this.os}_${this.arch}`;
  }

  toJSON(): string {
    return this.toString();
  }
}
