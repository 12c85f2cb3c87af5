import type { Metadata } from "@grpc/grpc-js";
import { encodeHeaders, type HeaderList } from "../../http2/index.ts";
import { headersOf } from "./metadata-headers.ts";

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
  const own = headersOf(metadata);
  return own.length === 0 ? PLAIN_ANSWER : encodeHeaders([...ANSWER, ...own]);
}

/** The headers behind the messages; those of an answer that has none are both in one. */
export function statusHeaders(
  code: number,
  details: string,
  metadata: Metadata | undefined,
  isWhole: boolean,
): Buffer {
  const own = headersOf(metadata);
  if (code === 0 && own.length === 0 && !isWhole) return PLAIN_SUCCESS;
  return encodeHeaders([
    ...(isWhole ? ANSWER : []),
    ["grpc-status", String(code)],
    ...(details === "" ? [] : [["grpc-message", encodeURI(details.toWellFormed())] as const]),
    ...own,
  ]);
}
