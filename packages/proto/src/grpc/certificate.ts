import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { TlsIdentity } from "./tls.ts";

export interface SelfSignedOptions {
  /**
   * The DNS name that the certificate is for, as its subject and its alternative name.
   * @default "localhost"
   */
  readonly name?: string;
  /**
   * How long it is valid, counted from five minutes ago. It is valid from two days ago on, as the clock of a machine may be set back
   * between the making and the check.
   * @default one year
   */
  readonly validMs?: number;
  /** @default the current time */
  readonly now?: Date;
}

const CLOCK_SKEW_MS = 5 * 60_000;
/** More than any error of a time zone. The key is new, so nothing was signed with it before. */
const SET_BACK_MS = 48 * 3_600_000;
const YEAR_MS = 365 * 24 * 3_600_000;

/**
 * Makes a new key (ECDSA, P-256) and a certificate for it, signed by itself, good for a server, a
 * client, and as the authority that the other side trusts. Two processes that exchange such
 * certificates over a private way have mutual TLS without any other authority; this is what
 * Terraform's plugins do at start.
 */
export function createSelfSignedIdentity(options: SelfSignedOptions = {}): TlsIdentity {
  const { name = "localhost", validMs = YEAR_MS, now = new Date() } = options;
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ type: "spki", format: "der" });
  const subject = distinguishedName(name);
  const body = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(serialNumber()),
    ECDSA_WITH_SHA256,
    subject,
    sequence(
      time(new Date(now.getTime() - SET_BACK_MS)),
      time(new Date(now.getTime() - CLOCK_SKEW_MS + validMs)),
    ),
    subject,
    key,
    explicit(3, sequence(...extensions(name, key))),
  );
  const signature = sign("sha256", body, privateKey);
  return {
    certificate: pem("CERTIFICATE", sequence(body, ECDSA_WITH_SHA256, bitString(signature, 0))),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/*
 * DER (ITU-T X.690), as far as an X.509 certificate (RFC 5280) of this one form needs it: every
 * element is a tag, the length of its content, and the content.
 */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;
/** Alternative name of the kind dNSName. */
const DNS_NAME = 0x82;

const OID = {
  commonName: "2.5.4.3",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAlternativeName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
  serverAuthentication: "1.3.6.1.5.5.7.3.1",
  clientAuthentication: "1.3.6.1.5.5.7.3.2",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
} as const;

function element(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const length: number[] = [];
  for (let rest = body.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff);
  const header = body.length < 0x80 ? [body.length] : [0x80 | length.length, ...length];
  return Buffer.concat([Uint8Array.of(tag, ...header), body]);
}

const sequence = (...items: Uint8Array[]): Buffer => element(TAG.sequence, ...items);
const explicit = (number: number, item: Uint8Array): Buffer => element(0xa0 | number, item);
const text = (tag: number, value: string): Buffer => element(tag, Buffer.from(value));
const critical = element(TAG.boolean, Uint8Array.of(0xff));

/** A non-negative integer, which must not look negative: its first bit is its sign. */
function integer(bytes: Uint8Array): Buffer {
  const isNegative = ((bytes[0] ?? 0) & 0x80) !== 0;
  return element(TAG.integer, isNegative ? Uint8Array.of(0, ...bytes) : bytes);
}

function bitString(bytes: Uint8Array, unusedBits: number): Buffer {
  return element(TAG.bitString, Uint8Array.of(unusedBits), bytes);
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [40 * first + second, ...rest].flatMap((arc) => {
    const digits = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return element(TAG.objectIdentifier, Uint8Array.from(bytes));
}

/** Years before 2050 have two digits. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  if (date.getUTCFullYear() >= 2050) return text(TAG.generalizedTime, digits);
  return text(TAG.utcTime, digits.slice(2));
}

function distinguishedName(name: string): Buffer {
  const attribute = sequence(objectIdentifier(OID.commonName), text(TAG.utf8String, name));
  return sequence(element(TAG.set, attribute));
}

const ECDSA_WITH_SHA256 = sequence(objectIdentifier(OID.ecdsaWithSha256));

function extension(id: string, isCritical: boolean, value: Uint8Array): Buffer {
  const content = element(TAG.octetString, value);
  return isCritical
    ? sequence(objectIdentifier(id), critical, content)
    : sequence(objectIdentifier(id), content);
}

function extensions(name: string, key: Uint8Array): Buffer[] {
  const isAuthority = element(TAG.boolean, Uint8Array.of(0xff));
  // digitalSignature, keyEncipherment, keyAgreement, keyCertSign: bits 0, 2, 4 and 5.
  const usage = bitString(Uint8Array.of(0b1010_1100), 2);
  const purposes = [OID.serverAuthentication, OID.clientAuthentication].map(objectIdentifier);
  const keyIdentifier = createHash("sha1").update(key).digest();
  return [
    extension(OID.basicConstraints, true, sequence(isAuthority)),
    extension(OID.keyUsage, true, usage),
    extension(OID.extendedKeyUsage, false, sequence(...purposes)),
    extension(OID.subjectAlternativeName, false, sequence(text(DNS_NAME, name))),
    extension(OID.subjectKeyIdentifier, false, element(TAG.octetString, keyIdentifier)),
  ];
}

/** Random, positive, and not starting with zero bytes, as DER wants it. */
function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
