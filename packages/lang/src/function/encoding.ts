import { constants, crc32, deflateRawSync, gunzipSync } from "node:zlib";
import {
  decodeJsonImplied,
  encodeJson,
  refine,
  refineNotNull,
  Type,
  Value,
} from "@stackwright/cty";
import iconv from "iconv-lite";
import type { LangFunction, ValueFunction } from "../eval/function.ts";
import { decodeBase64, decodeUtf8 } from "./base64.ts";
import { decodeCsv } from "./csv.ts";
import { anyParam, argument, invalidArgument, text, textParam } from "./parameter.ts";
import { decodeYaml } from "./yaml-decode.ts";
import { encodeYaml } from "./yaml-encode.ts";

const str = textParam("str", "the string");

function textToText(
  name: string,
  description: string,
  call: (input: string) => string,
  dialect: ValueFunction["dialect"] = "both",
): ValueFunction {
  return {
    name,
    category: "encoding",
    description,
    parameters: [str],
    dialect,
    returns: Type.string,
    call: (args) => Value.string(call(text(args, 0))),
  };
}

/** As in the query of a URL: a space is a plus sign. */
function urlEncode(input: string): string {
  return encodeURIComponent(input)
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");
}

function urlDecode(input: string): string {
  try {
    return decodeURIComponent(input.replaceAll("+", " "));
  } catch {
    return invalidArgument("failed to decode URL: it has a wrong escape or is not UTF-8", 0);
  }
}

/**
 * Gzip with a header that says nothing of time and system. The data are flushed before the end, as
 * the reference does it; its compressor may still choose other matches in longer texts.
 */
function gzip(input: string): string {
  const bytes = Buffer.from(input, "utf8");
  const data = deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
  const end = Buffer.from([1, 0, 0, 0xff, 0xff]);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(bytes), 0);
  trailer.writeUInt32LE(bytes.length % 2 ** 32, 4);
  return Buffer.concat([header, data, end, trailer]).toString("base64");
}

function gunzip(input: string, maxLength: number): string {
  const bytes = decodeBase64(input) ?? invalidArgument("failed to decode base64 data", 0);
  try {
    return (
      decodeUtf8(gunzipSync(bytes, { maxOutputLength: maxLength })) ??
      invalidArgument("the data are not UTF-8", 0)
    );
  } catch {
    return invalidArgument("failed to decompress the data", 0);
  }
}

function checkEncoding(name: string): void {
  if (name === "" || !iconv.encodingExists(name)) {
    invalidArgument(`${JSON.stringify(name)} is not a supported IANA encoding name or alias`, 1);
  }
}

/** The one encoding whose byte order is decided by a mark in front; without one it is big-endian. */
const MARKED_UTF16 = /^utf-?16$/i;

/** Text of bytes; undefined where they are none. */
function decodeText(bytes: Uint8Array, encoding: string): string | undefined {
  if (!/^utf-?16(?:le|be)?$/i.test(encoding))
    return iconv.decode(Buffer.from(bytes), encoding, { stripBOM: false });
  const marked = MARKED_UTF16.test(encoding);
  const mark = marked ? [bytes[0], bytes[1]].join() : "";
  const little = marked ? mark === "255,254" : /le$/i.test(encoding);
  const plain = mark === "255,254" || mark === "254,255" ? bytes.subarray(2) : bytes;
  try {
    const name = little ? "utf-16le" : "utf-16be";
    return new TextDecoder(name, { fatal: true, ignoreBOM: true }).decode(plain);
  } catch {
    return undefined;
  }
}

function encodeText(input: string, encoding: string): string {
  checkEncoding(encoding);
  if (MARKED_UTF16.test(encoding)) {
    return Buffer.from(iconv.encode(input, "utf-16be", { addBOM: true })).toString("base64");
  }
  const bytes = iconv.encode(input, encoding);
  // The library puts a substitute for what the encoding does not have.
  if (iconv.decode(bytes, encoding, { stripBOM: false }) !== input) {
    invalidArgument(
      `the given string contains characters that cannot be represented in ${encoding}`,
      0,
    );
  }
  return bytes.toString("base64");
}

/** What is certain of the JSON text of a value: how it begins. */
function jsonPrefix(value: Value): string {
  switch (value.type.kind) {
    case "object":
    case "map":
      return "{";
    case "list":
    case "set":
    case "tuple":
      return "[";
    case "string":
      return '"';
    case "bool":
    case "capsule":
    case "dynamic":
    case "number":
    default:
      return "";
  }
}

const UNKNOWN_TEXT = refineNotNull(Value.unknown(Type.string));

const encodable = anyParam("val", "the value", {
  allowNull: true,
  allowUnknown: true,
  allowDynamic: true,
});

function encodeJsonValue(value: Value): Value {
  if (value.isWhollyKnown) return Value.string(encodeJson(value));
  // A value that may turn out to be null may turn out to begin with "n".
  const prefix = value.isKnown && !value.isNull ? jsonPrefix(value) : "";
  return prefix === "" ? UNKNOWN_TEXT : refine(UNKNOWN_TEXT, { prefix });
}

/** A function that makes a value of any type from text: the type is that of the value. */
function decoder(
  name: string,
  description: string,
  decode: (input: string) => Value,
): ValueFunction {
  return {
    name,
    category: "encoding",
    description,
    parameters: [str],
    returns: ([source]) =>
      source === undefined || !source.isKnown ? Type.dynamic : decode(source.asString()).type,
    nullable: true,
    call: (args) => decode(text(args, 0)),
  };
}

export const ENCODING_FUNCTIONS: readonly LangFunction[] = [
  textToText("base64encode", "The UTF-8 bytes of a string in base64.", (input) =>
    Buffer.from(input, "utf8").toString("base64"),
  ),
  textToText("base64decode", "The string whose UTF-8 bytes are given in base64.", (input) => {
    const bytes = decodeBase64(input) ?? invalidArgument("failed to decode base64 data");
    return (
      decodeUtf8(bytes) ??
      invalidArgument("the result of decoding the provided string is not valid UTF-8")
    );
  }),
  textToText("base64gzip", "The UTF-8 bytes of a string, compressed with gzip, in base64.", gzip),
  {
    name: "base64gunzip",
    category: "encoding",
    dialect: "opentofu",
    description: "The string that was compressed with gzip and is given in base64.",
    parameters: [str],
    returns: Type.string,
    call: (args, _type, { maxStringLength }) =>
      Value.string(gunzip(text(args, 0), maxStringLength)),
  },
  textToText("urlencode", "The string as part of the query of a URL.", urlEncode),
  textToText(
    "urldecode",
    "The string that is written as part of the query of a URL.",
    urlDecode,
    "opentofu",
  ),
  {
    name: "textencodebase64",
    category: "encoding",
    description: "The bytes of a string in a character encoding, in base64.",
    parameters: [
      textParam("string", "the string"),
      textParam("encoding", "the IANA name of the encoding"),
    ],
    returns: Type.string,
    call: (args) => Value.string(encodeText(text(args, 0), text(args, 1))),
  },
  {
    name: "textdecodebase64",
    category: "encoding",
    description: "The string whose bytes in a character encoding are given in base64.",
    parameters: [
      textParam("source", "the bytes in base64"),
      textParam("encoding", "the IANA name of the encoding"),
    ],
    returns: Type.string,
    call: (args) => {
      const encoding = text(args, 1);
      checkEncoding(encoding);
      const bytes =
        decodeBase64(text(args, 0)) ??
        invalidArgument("the given value has an invalid base64 symbol", 0);
      const decoded = decodeText(bytes, encoding);
      return decoded === undefined
        ? invalidArgument(
            `the given string contains symbols that are not defined for ${encoding}`,
            0,
          )
        : Value.string(decoded);
    },
  },
  {
    name: "jsonencode",
    category: "encoding",
    description: "The value as JSON.",
    parameters: [encodable],
    returns: Type.string,
    call: (args) => encodeJsonValue(argument(args, 0)),
  },
  decoder("jsondecode", "The value that a JSON text says.", (input) => decodeJsonImplied(input)),
  {
    name: "yamlencode",
    category: "encoding",
    description: "The value as YAML.",
    parameters: [encodable],
    returns: Type.string,
    call: (args) => {
      const value = argument(args, 0);
      return value.isWhollyKnown ? Value.string(encodeYaml(value)) : UNKNOWN_TEXT;
    },
  },
  decoder("yamldecode", "The value that a YAML document says.", decodeYaml),
  decoder(
    "csvdecode",
    "A list of objects from a CSV text whose first line names the columns.",
    decodeCsv,
  ),
];
