import { ProviderAddress } from "../address/provider-address.ts";
import { type LockProblem, ProviderSourceError } from "../errors.ts";
import { type PackageHash, parsePackageHash } from "../hash/package-hash.ts";
import { VersionConstraints } from "../version/constraints.ts";
import { Version } from "../version/version.ts";
import { type LockArgument, type LockBlock, LockBlockReader } from "./lock-blocks.ts";
import { LockFile } from "./lock-file.ts";
import { LockSyntaxError, type Position } from "./lock-tokens.ts";
import { createProviderLock, type ProviderLock } from "./provider-lock.ts";

/** The name under which the command keeps the lock file of a configuration. */
export const LOCK_FILE_NAME = ".terraform.lock.hcl";

/** A parsed lock file, and the warnings for its user. */
export interface ParsedLockFile {
  readonly locks: LockFile;
  readonly warnings: readonly LockProblem[];
}

/**
 * Reads the text of a lock file. It accepts all that the command writes, in any layout that HCL
 * allows; addresses, versions and constraints must be in canonical form, as the command demands.
 *
 * Throws `PROVIDER_SOURCE_LOCK_FILE_INVALID` with the place of each thing that is wrong.
 *
 * @param options.filename for messages. @default ".terraform.lock.hcl"
 */
export function parseLockFile(
  text: string,
  options: { readonly filename?: string } = {},
): ParsedLockFile {
  const filename = options.filename ?? LOCK_FILE_NAME;
  const problems: LockProblem[] = [];
  const warnings: LockProblem[] = [];
  const locks = new Map<string, ProviderLock & Position>();
  try {
    for (const block of new LockBlockReader(text).readAll()) {
      if (block.type === "module") {
        if (warnings.length === 0) warnings.push(moduleWarning(block));
        continue;
      }
      const lock = new BlockDecoder(block, problems).decode();
      if (lock === undefined) continue;
      const key = lock.address.toString();
      const former = locks.get(key);
      if (former === undefined) locks.set(key, { ...lock, line: block.line, column: block.column });
      else problems.push(problemAt(block, `${key} is already locked at line ${former.line}`));
    }
  } catch (error) {
    if (!(error instanceof LockSyntaxError)) throw error;
    problems.push(error.problem);
  }
  const [first] = problems;
  if (first === undefined) {
    return { locks: LockFile.of([...locks.values()].map(createProviderLock)), warnings };
  }
  const more = problems.length === 1 ? "" : ` (and ${problems.length - 1} more)`;
  throw new ProviderSourceError(
    "PROVIDER_SOURCE_LOCK_FILE_INVALID",
    `${filename}:${first.line}:${first.column}: ${first.message}${more}`,
    { file: filename, problems },
  );
}

function problemAt({ line, column }: Position, message: string): LockProblem {
  return { line, column, message };
}

function moduleWarning(block: LockBlock): LockProblem {
  return problemAt(
    block,
    "locks for modules are not supported and are left out; the file may come from a later program",
  );
}

/** Reads one provider block, noting all that is wrong with it. */
class BlockDecoder {
  readonly #block: LockBlock;
  readonly #problems: LockProblem[];

  constructor(block: LockBlock, problems: LockProblem[]) {
    this.#block = block;
    this.#problems = problems;
  }

  #report(place: Position, message: string): undefined {
    this.#problems.push(problemAt(place, message));
    return undefined;
  }

  decode(): ProviderLock | undefined {
    const known = this.#knownArguments();
    const address = this.#address();
    const version = this.#version(known.get("version"));
    const constraints = this.#constraints(known.get("constraints"));
    const hashes = this.#hashes(known.get("hashes"));
    if (!address || !version || !constraints || !hashes) return undefined;
    return { address, version, constraints, hashes };
  }

  #knownArguments(): Map<string, LockArgument> {
    const known = new Map<string, LockArgument>();
    for (const argument of this.#block.arguments) {
      const { name } = argument;
      if (name !== "version" && name !== "constraints" && name !== "hashes") {
        this.#report(
          argument,
          `the argument "${name}" does not exist; there are version, constraints and hashes`,
        );
      } else if (known.has(name)) this.#report(argument, `the argument "${name}" is repeated`);
      else known.set(name, argument);
    }
    return known;
  }

  /** What `read` makes of a value, or the message of its error as a problem at the value's place. */
  #attempt<T>(place: Position, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ProviderSourceError)) throw error;
      return this.#report(place, error.message);
    }
  }

  #string(argument: LockArgument): string | undefined {
    if (argument.value.kind === "string") return argument.value.text;
    return this.#report(argument.value, `"${argument.name}" must be a quoted string`);
  }

  #address(): ProviderAddress | undefined {
    const { label } = this.#block;
    const address = this.#attempt(label, () => ProviderAddress.parse(label.text));
    if (address === undefined) return undefined;
    if (!address.lockable) {
      return this.#report(
        label,
        `the ${address.kind === "builtin" ? "built-in" : "legacy"} provider ${address.toString()} cannot be locked`,
      );
    }
    if (address.toString() === label.text) return address;
    return this.#report(label, `the address must be written in full, as "${address.toString()}"`);
  }

  #version(argument: LockArgument | undefined): Version | undefined {
    if (argument === undefined) {
      return this.#report(this.#block, 'the argument "version" is missing');
    }
    const text = this.#string(argument);
    if (text === undefined) return undefined;
    const version = this.#attempt(argument.value, () => Version.parse(text));
    if (version === undefined || version.toString() === text) return version;
    return this.#report(argument.value, `the version must be written as "${version.toString()}"`);
  }

  #constraints(argument: LockArgument | undefined): VersionConstraints | undefined {
    if (argument === undefined) return VersionConstraints.any;
    const text = this.#string(argument);
    if (text === undefined || text === "") return text === "" ? VersionConstraints.any : undefined;
    const constraints = this.#attempt(argument.value, () => VersionConstraints.parse(text));
    if (constraints === undefined || constraints.toString() === text) return constraints;
    return this.#report(
      argument.value,
      `the constraints must be written as "${constraints.toString()}"`,
    );
  }

  #hashes(argument: LockArgument | undefined): PackageHash[] | undefined {
    if (argument === undefined) return [];
    if (argument.value.kind !== "list") {
      return this.#report(argument.value, '"hashes" must be a list of quoted strings');
    }
    if (argument.value.items.length === 0) {
      return this.#report(argument.value, '"hashes" must not be empty; leave it out instead');
    }
    const hashes = argument.value.items.map((item) =>
      this.#attempt(item, () => parsePackageHash(item.text)),
    );
    return hashes.every((hash) => hash !== undefined) ? hashes : undefined;
  }
}
