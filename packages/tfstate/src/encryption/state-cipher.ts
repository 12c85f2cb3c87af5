import { createCipheriv, createDecipheriv, pbkdf2, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { TfstateError } from "../errors.ts";
import { type EncryptedState, formatEncryptedState } from "./encrypted-state.ts";
import { type EncryptionMethod, MOST_ITERATIONS, type Passphrase } from "./encryption-method.ts";

const derive = promisify(pbkdf2);
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What a state says about the key that encrypts it. */
interface KeyParameters {
  readonly salt: Buffer;
  readonly iterations: number;
  readonly hash: string;
  readonly keyBytes: number;
}

/** Decrypts states that OpenTofu encrypted, and encrypts as it does. Source: states of OpenTofu 1.12. */
export class StateCipher {
  readonly #methods: readonly EncryptionMethod[];

  /** @param methods the first encrypts; each may have encrypted what is read */
  constructor(methods: readonly EncryptionMethod[]) {
    this.#methods = methods;
  }

  /** The text of the state. `TFSTATE_STATE_ENCRYPTED` where no method fits; `TFSTATE_ENCRYPTION_UNSUPPORTED` names one that is missing. */
  async decrypt(state: EncryptedState): Promise<Uint8Array> {
    const problems: string[] = [];
    for (const method of this.#methods) {
      if (method.kind !== "aes_gcm") continue;
      const { metadata } = method.passphrase;
      const found = state.meta.get(metadata);
      if (found === undefined) {
        problems.push(`${method.name}: the state was encrypted with other keys than "${metadata}"`);
        continue;
      }
      const key = await deriveKey(method.passphrase, readParameters(found, metadata));
      const plain = open(state.data, key, method.additional);
      if (plain !== undefined) return plain;
      problems.push(
        `${method.name}: the passphrase or "aad" is another one, or the state is damaged`,
      );
    }
    const reason =
      problems.length > 0
        ? problems.join("; ")
        : 'no method is configured: set TF_ENCRYPTION or the block "encryption"';
    throw new TfstateError(
      "TFSTATE_STATE_ENCRYPTED",
      `the state is encrypted, and cannot be decrypted: ${reason}`,
    );
  }

  /** Whether there is a method; `unencrypted` is one. */
  get isConfigured(): boolean {
    return this.#methods.length > 0;
  }

  /** Whether a state in the clear may be what is meant: there is no method, or `unencrypted` is one of them. */
  get allowsPlain(): boolean {
    return !this.isConfigured || this.#methods.some(({ kind }) => kind === "unencrypted");
  }

  /** The bytes to store for the text of a state, with a fresh salt and nonce; the text itself where states are not encrypted. */
  async encrypt(
    plain: Uint8Array,
    head: Pick<EncryptedState, "serial" | "lineage">,
  ): Promise<Uint8Array> {
    const [method] = this.#methods;
    if (method === undefined || method.kind === "unencrypted") return plain;
    const { passphrase, additional } = method;
    const parameters = {
      salt: randomBytes(passphrase.saltBytes),
      iterations: passphrase.iterations,
      hash: passphrase.hash,
      keyBytes: passphrase.keyBytes,
    };
    const key = await deriveKey(passphrase, parameters);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(algorithm(key), key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additional);
    const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    const meta = {
      salt: parameters.salt.toString("base64"),
      iterations: parameters.iterations,
      hash_function: parameters.hash,
      key_length: parameters.keyBytes,
    };
    return formatEncryptedState({
      ...head,
      meta: new Map([[passphrase.metadata, Buffer.from(JSON.stringify(meta))]]),
      data,
    });
  }
}

async function deriveKey({ text }: Passphrase, parameters: KeyParameters): Promise<Buffer> {
  const { salt, iterations, keyBytes, hash } = parameters;
  return derive(text, salt, iterations, keyBytes, hash);
}

function open(data: Buffer, key: Buffer, additional: Buffer): Buffer | undefined {
  if (data.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = data.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(algorithm(key), key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additional);
  decipher.setAuthTag(data.subarray(-TAG_BYTES));
  const plain = decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return undefined;
  }
}

function algorithm(key: Buffer): "aes-128-gcm" | "aes-192-gcm" | "aes-256-gcm" {
  return key.length === 16 ? "aes-128-gcm" : key.length === 24 ? "aes-192-gcm" : "aes-256-gcm";
}

function readParameters(bytes: Buffer, name: string): KeyParameters {
  const invalid = (): TfstateError =>
    new TfstateError(
      "TFSTATE_FILE_INVALID",
      `the encrypted state has parameters of "${name}" that are not those of pbkdf2`,
    );
  let found: Readonly<Record<string, unknown>> | null;
  try {
    found = JSON.parse(bytes.toString("utf8")) as typeof found;
  } catch {
    throw invalid();
  }
  const { salt, iterations, hash_function: hash, key_length: keyBytes } = found ?? {};
  if (
    typeof salt !== "string" ||
    typeof iterations !== "number" ||
    !Number.isInteger(iterations) ||
    iterations < 1 ||
    (hash !== "sha256" && hash !== "sha512") ||
    (keyBytes !== 16 && keyBytes !== 24 && keyBytes !== 32)
  ) {
    throw invalid();
  }
  if (iterations > MOST_ITERATIONS) {
    throw new TfstateError(
      "TFSTATE_FILE_INVALID",
      `the encrypted state asks for ${iterations} iterations of pbkdf2 under "${name}"; at most ${MOST_ITERATIONS} are computed. Lower "iterations" of the key provider with OpenTofu and let it write the state again, or read the state with "adopt --pull tofu"`,
    );
  }
  return { salt: Buffer.from(salt, "base64"), iterations, hash, keyBytes };
}
