import { Metadata } from "@grpc/grpc-js";
import { encodeHeaders, type HeaderList } from "../../http2/index.ts";

/** Headers of the protocol itself, which are no metadata. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "te",
  "content-type",
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-message-type",
]);

/** Source: gRPC over HTTP/2, `TimeoutUnit`. */
const MS_BY_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

export function valueOf(headers: HeaderList, name: string): string | undefined {
  for (const [key, value] of headers) if (key === name) return value;
  return undefined;
}

/** What the client sends with a call. A header that is no valid metadata is left out. */
export function metadataOfRequest(headers: HeaderList): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    if (name.startsWith(":") || OWN_HEADERS.has(name)) continue;
    try {
      if (!name.endsWith("-bin")) metadata.add(name, value);
      else for (const part of value.split(",")) metadata.add(name, Buffer.from(part, "base64"));
    } catch {
      // What the client means by it cannot be known, and handlers read metadata by names that they know.
    }
  }
  return metadata;
}

/** What is left of the call in ms; undefined for no limit. */
export function timeoutOf(headers: HeaderList): number | "invalid" | undefined {
  const text = valueOf(headers, "grpc-timeout");
  if (text === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const factor = MS_BY_UNIT[unit];
  return digits === undefined || factor === undefined ? "invalid" : Number(digits) * factor;
}

/** The answer to a request that is none of gRPC. */
export function refusalOf(headers: HeaderList): Buffer | undefined {
  if (valueOf(headers, ":method") !== "POST") return WRONG_METHOD;
  const type = valueOf(headers, "content-type");
  return type?.startsWith("application/grpc") === true ? undefined : WRONG_TYPE;
}

const WRONG_METHOD = encodeHeaders([
  [":status", "405"],
  ["allow", "POST"],
]);
const WRONG_TYPE = encodeHeaders([[":status", "415"]]);

const ANSWER: HeaderList = [
  [":status", "200"],
  ["content-type", "application/grpc"],
  ["grpc-accept-encoding", "identity"],
];
const PLAIN_ANSWER = encodeHeaders(ANSWER);
const PLAIN_SUCCESS = encodeHeaders([["grpc-status", "0"]]);

/** The headers before the messages of an answer. */
export function answerHeaders(metadata: Metadata | undefined): Buffer {
  const own = metadata === undefined ? [] : headersOf(metadata);
  return own.length === 0 ? PLAIN_ANSWER : encodeHeaders([...ANSWER, ...own]);
}

/** The headers behind the messages; those of an answer that has none are both in one. */
export function statusHeaders(
  code: number,
  details: string,
  metadata: Metadata | undefined,
  isWhole: boolean,
): Buffer {
  const own = metadata === undefined ? [] : headersOf(metadata);
  if (code === 0 && own.length === 0 && !isWhole) return PLAIN_SUCCESS;
  return encodeHeaders([
    ...(isWhole ? ANSWER : []),
    ["grpc-status", String(code)],
    ...(details === "" ? [] : [["grpc-message", encodeURI(details)] as const]),
    ...own,
  ]);
}

function headersOf(metadata: Metadata): (readonly [string, string])[] {
  return Object.entries(metadata.toHttp2Headers()).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, String(value)] as const),
  );
}
