import { TfstateError } from "../errors.ts";

/** A state that OpenTofu has encrypted. */
export interface EncryptedState {
  /** Those of the state, in the clear. */
  readonly serial: number;
  readonly lineage: string;
  /** What key providers have to know to make the key again, by their names. */
  readonly meta: ReadonlyMap<string, Buffer>;
  readonly data: Buffer;
}

/** The one form that is known. */
const VERSION = "v0";

/**
 * Reads the form of encrypted states; undefined for any other bytes. `TFSTATE_FILE_INVALID` for one that is damaged,
 * `TFSTATE_ENCRYPTION_UNSUPPORTED` for one of a later form.
 */
export function parseEncryptedState(bytes: Uint8Array): EncryptedState | undefined {
  // Most states are not, and some are large.
  const stored = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!stored.includes("encrypted_data")) return undefined;
  let file: unknown;
  try {
    file = JSON.parse(stored.toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof file !== "object" || file === null || !Object.hasOwn(file, "encrypted_data")) {
    return undefined;
  }
  const {
    serial,
    lineage,
    meta,
    encrypted_data: data,
    encryption_version: version,
  } = file as Readonly<Record<string, unknown>>;
  if (typeof data !== "string" || typeof meta !== "object" || meta === null) {
    throw new TfstateError("TFSTATE_FILE_INVALID", "the state is encrypted, and damaged");
  }
  if (version !== VERSION) {
    throw new TfstateError(
      "TFSTATE_ENCRYPTION_UNSUPPORTED",
      `the state is encrypted in the form ${JSON.stringify(version)}; ${JSON.stringify(VERSION)} is known`,
    );
  }
  const entries = Object.entries(meta).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "string" ? [[name, Buffer.from(value, "base64")] as const] : [],
  );
  return {
    serial: typeof serial === "number" ? serial : 0,
    lineage: typeof lineage === "string" ? lineage : "",
    meta: new Map(entries),
    data: Buffer.from(data, "base64"),
  };
}

export function formatEncryptedState({ serial, lineage, meta, data }: EncryptedState): Buffer {
  const file = {
    serial,
    lineage,
    meta: Object.fromEntries([...meta].map(([name, value]) => [name, value.toString("base64")])),
    encrypted_data: data.toString("base64"),
    encryption_version: VERSION,
  };
  return Buffer.from(JSON.stringify(file));
}
