import { constants, createHash, createPrivateKey, privateDecrypt } from "node:crypto";
import { Type, Value } from "@stackwright/cty";
import bcrypt from "bcryptjs";
import type { LangFunction, ValueFunction } from "../eval/function.ts";
import type { FunctionHost } from "../eval/host.ts";
import { invalidArgument, numberParam, text, textParam, wholeNumberParam } from "./parameter.ts";

const str = textParam("str", "the string, whose UTF-8 bytes are taken");

function digest(name: string, algorithm: string, encoding: "hex" | "base64"): ValueFunction {
  return {
    name,
    category: "hash",
    description: `The ${algorithm.toUpperCase()} hash of a string, in ${encoding === "hex" ? "hexadecimal" : "base64"}.`,
    parameters: [str],
    returns: Type.string,
    call: (args) =>
      Value.string(createHash(algorithm).update(text(args, 0), "utf8").digest(encoding)),
  };
}

/** The name spaces that RFC 4122 names. */
const NAMESPACES: Readonly<Record<string, string | undefined>> = {
  dns: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
  url: "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
  oid: "6ba7b812-9dad-11d1-80b4-00c04fd430c8",
  x500: "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
};

const UUID =
  /^(?:urn:uuid:)?\{?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i;

function uuidBytes(uuid: string): Buffer {
  const match = UUID.exec(uuid);
  if (match === null) return invalidArgument("uuidv5() doesn't support this namespace", 0);
  return Buffer.from(match.slice(1).join(""), "hex");
}

function formatUuid(bytes: Uint8Array, version: number): string {
  const own = Buffer.from(bytes.slice(0, 16));
  own[6] = ((own[6] ?? 0) & 0x0f) | (version << 4);
  own[8] = ((own[8] ?? 0) & 0x3f) | 0x80;
  const hex = own.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}

/** The message in a block padded as PKCS #1 v1.5 says; undefined where it is not. */
function unpad(block: Uint8Array): Uint8Array | undefined {
  const end = block.indexOf(0, 2);
  const valid = block[0] === 0 && block[1] === 2 && end >= 10;
  return valid ? block.subarray(end + 1) : undefined;
}

function rsaDecrypt(ciphertext: string, pem: string): string {
  if (!/^[A-Za-z0-9+/\r\n]*(?:={1,2}[\r\n]*)?$/.test(ciphertext)) {
    invalidArgument("failed to decode input: cipher text must be base64-encoded", 0);
  }
  let key: ReturnType<typeof createPrivateKey>;
  try {
    key = createPrivateKey(pem);
  } catch {
    return invalidArgument(
      "failed to parse key: it must be an RSA private key in PEM format without a passphrase",
      1,
    );
  }
  if (key.asymmetricKeyType !== "rsa")
    invalidArgument("invalid key type: an RSA private key is required", 1);
  let block: Uint8Array;
  try {
    // Unpadded by hand: with OpenSSL's own unpadding a wrong key gives random bytes and no error.
    block = privateDecrypt(
      { key, padding: constants.RSA_NO_PADDING },
      Buffer.from(ciphertext, "base64"),
    );
  } catch {
    return invalidArgument("failed to decrypt: error occurred while decrypting", 0);
  }
  const message = unpad(block);
  if (message === undefined)
    return invalidArgument("failed to decrypt: wrong key or damaged cipher text", 0);
  return Buffer.from(message).toString("utf8");
}

const DEFAULT_COST = 10;
/** Each step doubles the time; this one takes seconds. */
const MAX_COST = 16;

function bcryptHash(args: readonly Value[], host: FunctionHost): Value {
  const given = args.length > 1 ? wholeNumberParam(args, 1) : DEFAULT_COST;
  const cost = given < 4 ? DEFAULT_COST : given;
  if (cost > MAX_COST) invalidArgument(`the cost may be at most ${MAX_COST}`, 1);
  const password = text(args, 0);
  if (Buffer.byteLength(password) > 72) invalidArgument("bcrypt takes at most 72 bytes", 0);
  if (host.randomBytes === undefined) return Value.unknown(Type.string);
  const salt = `$2a$${String(cost).padStart(2, "0")}$${bcrypt.encodeBase64(host.randomBytes(16), 16)}`;
  return Value.string(bcrypt.hashSync(password, salt));
}

export const HASH_FUNCTIONS: readonly LangFunction[] = [
  digest("md5", "md5", "hex"),
  digest("sha1", "sha1", "hex"),
  digest("sha256", "sha256", "hex"),
  digest("sha512", "sha512", "hex"),
  digest("base64sha256", "sha256", "base64"),
  digest("base64sha512", "sha512", "base64"),
  {
    name: "bcrypt",
    category: "hash",
    description: "A bcrypt hash of a string, different at every call.",
    parameters: [str],
    rest: numberParam("cost", "the cost, 10 if not given"),
    returns: Type.string,
    call: (args, _type, host) => {
      if (args.length > 2) invalidArgument("bcrypt() takes no more than two arguments", 2);
      return bcryptHash(args, host);
    },
  },
  {
    name: "uuid",
    category: "hash",
    description: "A random UUID, different at every call.",
    parameters: [],
    returns: Type.string,
    call: (_args, _type, { randomBytes }) =>
      randomBytes === undefined
        ? Value.unknown(Type.string)
        : Value.string(formatUuid(randomBytes(16), 4)),
  },
  {
    name: "uuidv5",
    category: "hash",
    description: "The UUID of a name in a name space, always the same.",
    parameters: [
      textParam("namespace", "dns, url, oid, x500 or a UUID"),
      textParam("name", "the name"),
    ],
    returns: Type.string,
    call: (args) => {
      const namespace = text(args, 0);
      const bytes = uuidBytes(NAMESPACES[namespace] ?? namespace);
      const hash = createHash("sha1").update(bytes).update(text(args, 1), "utf8").digest();
      return Value.string(formatUuid(hash, 5));
    },
  },
  {
    name: "rsadecrypt",
    category: "hash",
    description: "The text of a cipher text in base64, decrypted with an RSA key (PKCS #1 v1.5).",
    parameters: [
      textParam("ciphertext", "the cipher text in base64"),
      textParam("privatekey", "the private key in PEM format"),
    ],
    returns: Type.string,
    call: (args) => Value.string(rsaDecrypt(text(args, 0), text(args, 1))),
  },
];
