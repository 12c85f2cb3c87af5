import { unknownProperty } from "./construct.ts";
import type { UnknownProperty, UnknownType } from "./value.ts";

/** The key that makes an object in a Struct something else than a plain map. */
export const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";

/** What the value of the signature key says that the object is (Pulumi property values). */
export const SIGNATURE = {
  secret: "1b47061264138c4ac30d75fd1eb44270",
  asset: "c44067f5952c0a294b673a41bacd8c17",
  archive: "0def7320c3a5731c473e5ecbe6d01bc7",
  resource: "5cf8f73096256a8f31e491e813e4eb8e",
  output: "d0e6a833031e9bbcd3f4e8bde6ca49a4",
  bytes: "803fd3297a5875dc03ca845dda5d2a98",
} as const;

export type SignatureKind = keyof typeof SIGNATURE;

/** The reserved strings that stand for a value which is not known yet, by expected type. */
export const UNKNOWN_SENTINEL: Readonly<Record<UnknownType, string>> = {
  bool: "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  number: "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  string: "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
  list: "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  map: "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
  asset: "030794c1-ac77-496b-92df-f27374a8bd58",
  archive: "e48ece36-62e2-4504-bad9-02848725956a",
};

/** Length of every sentinel, so that a decoder looks only at strings of this length. */
export const SENTINEL_LENGTH = 36;

const UNKNOWN_BY_SENTINEL: ReadonlyMap<string, UnknownProperty> = new Map([
  [UNKNOWN_SENTINEL.bool, unknownProperty("bool")],
  [UNKNOWN_SENTINEL.number, unknownProperty("number")],
  [UNKNOWN_SENTINEL.string, unknownProperty("string")],
  [UNKNOWN_SENTINEL.list, unknownProperty("list")],
  [UNKNOWN_SENTINEL.map, unknownProperty("map")],
  [UNKNOWN_SENTINEL.asset, unknownProperty("asset")],
  [UNKNOWN_SENTINEL.archive, unknownProperty("archive")],
]);

const KIND_BY_SIGNATURE: ReadonlyMap<string, SignatureKind> = new Map([
  [SIGNATURE.secret, "secret"],
  [SIGNATURE.asset, "asset"],
  [SIGNATURE.archive, "archive"],
  [SIGNATURE.resource, "resource"],
  [SIGNATURE.output, "output"],
  [SIGNATURE.bytes, "bytes"],
]);

/** The unknown value that a string stands for; undefined for every other string. */
export function unknownOfSentinel(text: string): UnknownProperty | undefined {
  return UNKNOWN_BY_SENTINEL.get(text);
}

export function kindOfSignature(signature: string): SignatureKind | undefined {
  return KIND_BY_SIGNATURE.get(signature);
}

/** Keys that are none of a user's business, by Pulumi's convention. */
export function isInternalKey(key: string): boolean {
  return key.startsWith("__");
}
