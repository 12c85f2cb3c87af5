import { createHash } from "node:crypto";
import { createMessage, generateKey, type PrivateKey, readPrivateKey, sign } from "openpgp";
import type { SharedSecrets } from "../access/shared-secrets.ts";

/** What clients check signatures with. */
export interface PublicSigningKey {
  /** Long id of the key, 16 capital hexadecimal digits. */
  readonly keyId: string;
  readonly asciiArmor: string;
}

/** Most signatures that are kept; each is some hundred bytes. */
const MAX_SIGNATURES = 1024;

/**
 * The OpenPGP key of a registry, one for all its instances: version 4, Ed25519 in the legacy curve
 * form, as the command reads no other. Made when it is first needed, stored encrypted.
 */
export class SigningKey {
  readonly #secrets: SharedSecrets;
  readonly #signatures = new Map<string, Promise<Uint8Array>>();
  #key: Promise<PrivateKey> | undefined;

  constructor(secrets: SharedSecrets) {
    this.#secrets = secrets;
  }

  async publicKey(): Promise<PublicSigningKey> {
    const key = await this.#private();
    return { keyId: key.getKeyID().toHex().toUpperCase(), asciiArmor: key.toPublic().armor() };
  }

  /** A detached signature in binary form over some bytes. */
  sign(bytes: Uint8Array): Promise<Uint8Array> {
    const digest = createHash("sha256").update(bytes).digest("base64");
    let signature = this.#signatures.get(digest);
    if (signature === undefined) {
      signature = this.#sign(bytes);
      if (this.#signatures.size >= MAX_SIGNATURES) this.#signatures.clear();
      this.#signatures.set(digest, signature);
      signature.catch(() => this.#signatures.delete(digest));
    }
    return signature;
  }

  async #sign(bytes: Uint8Array): Promise<Uint8Array> {
    return sign({
      message: await createMessage({ binary: bytes }),
      signingKeys: await this.#private(),
      detached: true,
      format: "binary",
    });
  }

  #private(): Promise<PrivateKey> {
    if (this.#key === undefined) {
      this.#key = this.#read();
      this.#key.catch(() => {
        this.#key = undefined;
      });
    }
    return this.#key;
  }

  async #read(): Promise<PrivateKey> {
    const armored = await this.#secrets.secret("openpgp", async () => {
      const { privateKey } = await generateKey({
        userIDs: [{ name: "Stackwright registry" }],
        type: "ecc",
        curve: "ed25519Legacy",
        config: { v6Keys: false },
        format: "armored",
      });
      return Buffer.from(privateKey);
    });
    return readPrivateKey({ armoredKey: armored.toString() });
  }
}
