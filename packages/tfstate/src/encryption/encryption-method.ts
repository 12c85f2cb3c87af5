import { TfstateError } from "../errors.ts";

/** A `key_provider` or `method` block of OpenTofu, with its arguments as JSON. */
export interface EncryptionPart {
  readonly type: string;
  readonly name: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Names of other parts by argument: `keys`, `chain`. */
  readonly references: ReadonlyMap<string, string>;
}

/** How states are encrypted, as it is configured. */
export interface EncryptionSettings {
  /** By reference: `key_provider.pbkdf2.name`. */
  readonly keyProviders: ReadonlyMap<string, EncryptionPart>;
  /** By reference: `method.aes_gcm.name`. */
  readonly methods: ReadonlyMap<string, EncryptionPart>;
  /** The method of what is written, and those of what may be read. */
  readonly state: readonly string[];
}

/** The key provider `pbkdf2`. */
export interface Passphrase {
  readonly text: string;
  readonly keyBytes: 16 | 24 | 32;
  readonly saltBytes: number;
  readonly iterations: number;
  readonly hash: "sha256" | "sha512";
  /** The name under which a state has the salt. */
  readonly metadata: string;
}

/**
 * A state comes from outside: its parameters must not cost more than a user would ever set. OpenTofu's default is 600,000; this is some
 * seconds of one core.
 */
export const MOST_ITERATIONS = 10_000_000;

export type EncryptionMethod =
  | { readonly kind: "unencrypted"; readonly name: string }
  | {
      readonly kind: "aes_gcm";
      readonly name: string;
      readonly passphrase: Passphrase;
      readonly additional: Buffer;
    };

/**
 * The methods of states. `TFSTATE_ENCRYPTION_UNSUPPORTED` names a method or a key provider that only OpenTofu has,
 * `TFSTATE_ENCRYPTION_INVALID` what is missing or wrong. No message quotes a value: passphrases are secrets.
 */
export function encryptionMethods(settings: EncryptionSettings): EncryptionMethod[] {
  return settings.state.map((reference) => methodOf(reference, settings));
}

function methodOf(reference: string, settings: EncryptionSettings): EncryptionMethod {
  const part = settings.methods.get(reference);
  if (part === undefined) throw invalid(`there is no block for ${reference}`);
  if (part.type === "unencrypted") return { kind: "unencrypted", name: reference };
  if (part.type !== "aes_gcm") {
    throw unsupported(
      `the method "${part.type}" (${reference}); aes_gcm and unencrypted are known`,
    );
  }
  const keys = part.references.get("keys");
  if (keys === undefined) throw invalid(`${reference} needs "keys"`);
  const { aad } = part.values;
  if (aad !== undefined && !isBytes(aad))
    throw invalid(`${reference}: "aad" must be a list of bytes`);
  return {
    kind: "aes_gcm",
    name: reference,
    passphrase: passphraseOf(keys, settings),
    additional: Buffer.from(aad ?? []),
  };
}

function passphraseOf(reference: string, settings: EncryptionSettings): Passphrase {
  const part = settings.keyProviders.get(reference);
  if (part === undefined) throw invalid(`there is no block for ${reference}`);
  if (part.type !== "pbkdf2") {
    throw unsupported(`the key provider "${part.type}" (${reference}); pbkdf2 is known`);
  }
  if (part.references.has("chain")) throw unsupported(`"chain" of ${reference}`);
  const { values } = part;
  const { passphrase, hash_function: hash = "sha512" } = values;
  const { encrypted_metadata_alias: alias = reference } = values;
  if (typeof passphrase !== "string" || passphrase.length < 16) {
    throw invalid(`${reference}: "passphrase" needs at least 16 characters`);
  }
  if (hash !== "sha256" && hash !== "sha512") {
    throw invalid(`${reference}: "hash_function" is sha256 or sha512`);
  }
  const keyBytes = wholeNumber(values["key_length"], 32);
  if (keyBytes !== 16 && keyBytes !== 24 && keyBytes !== 32) {
    throw invalid(`${reference}: "key_length" of aes_gcm is 16, 24 or 32`);
  }
  const iterations = wholeNumber(values["iterations"], 600_000);
  if (iterations === undefined || iterations < 200_000 || iterations > MOST_ITERATIONS) {
    throw invalid(`${reference}: "iterations" is 200000 to ${MOST_ITERATIONS}`);
  }
  const saltBytes = wholeNumber(values["salt_length"], 32);
  if (saltBytes === undefined || saltBytes < 1 || saltBytes > 1024) {
    throw invalid(`${reference}: "salt_length" is a number of bytes`);
  }
  if (typeof alias !== "string" || alias === "") {
    throw invalid(`${reference}: "encrypted_metadata_alias" is a name`);
  }
  return { text: passphrase, keyBytes, saltBytes, iterations, hash, metadata: alias };
}

function wholeNumber(value: unknown, otherwise: number): number | undefined {
  if (value === undefined || value === null) return otherwise;
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}

function isBytes(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.every((byte) => Number.isInteger(byte) && (byte as number) >= 0 && (byte as number) < 256)
  );
}

function invalid(problem: string): TfstateError {
  return new TfstateError("TFSTATE_ENCRYPTION_INVALID", `encryption of states: ${problem}`);
}

function unsupported(what: string): TfstateError {
  return new TfstateError(
    "TFSTATE_ENCRYPTION_UNSUPPORTED",
    `encryption of states: ${what}. Read the state with its own command: "adopt --pull tofu"`,
  );
}
