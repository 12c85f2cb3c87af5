import { TfpluginError } from "../errors.ts";

/**
 * Checks a detached binary OpenPGP signature of a document against keys in armor; returns the id of the key that made
 * it, in capitals. The signature must come from one of the keys and be good; those of other keys do not count.
 * `TFPLUGIN_SIGNATURE_INVALID`.
 */
export async function verifySignature(input: {
  readonly document: Uint8Array;
  readonly signature: Uint8Array;
  readonly armoredKeys: readonly string[];
  /** What is signed, for messages. */
  readonly name: string;
}): Promise<string> {
  const { document, armoredKeys, name } = input;
  const failed = (why: string, cause?: unknown): TfpluginError =>
    new TfpluginError("TFPLUGIN_SIGNATURE_INVALID", `the signature of ${name} ${why}`, { cause });
  if (armoredKeys.length === 0) throw failed("cannot be checked, as the registry gives no key");
  // As large as all else together, and only needed where something is fetched from a registry.
  const { createMessage, readKey, readSignature, verify } = await import("openpgp");
  try {
    const verificationKeys = await Promise.all(
      armoredKeys.map((armoredKey) => readKey({ armoredKey })),
    );
    const signature = await readSignature({ binarySignature: input.signature });
    const message = await createMessage({ binary: document });
    const { signatures } = await verify({ message, signature, verificationKeys });
    const failures: unknown[] = [];
    for (const { verified, keyID } of signatures) {
      try {
        await verified;
        return keyID.toHex().toUpperCase();
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures[0] ?? new Error("there is no signature in it");
  } catch (error) {
    throw failed(`is not good: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

/** The SHA-256 of each file in a list of checksums, in lower-case hex. `TFPLUGIN_SIGNATURE_INVALID` for lines of another form. */
export function parseChecksums(document: Uint8Array, name: string): ReadonlyMap<string, string> {
  const sums = new Map<string, string>();
  for (const line of new TextDecoder().decode(document).split("\n")) {
    if (line.trim() === "") continue;
    const match = /^(?<sum>[\dA-Fa-f]{64}) [ *](?<file>\S.*?)\r?$/.exec(line)?.groups;
    if (match?.sum === undefined || match.file === undefined) {
      const text = `${name} has a line that is not a checksum: ${JSON.stringify(line.slice(0, 200))}`;
      throw new TfpluginError("TFPLUGIN_SIGNATURE_INVALID", text);
    }
    sums.set(match.file, match.sum.toLowerCase());
  }
  return sums;
}
