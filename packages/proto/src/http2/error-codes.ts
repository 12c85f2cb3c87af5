/** Why a stream or a connection ends. Source: RFC 9113, section 7. */
export const HTTP2_ERRORS = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
  INADEQUATE_SECURITY: 0xc,
  HTTP_1_1_REQUIRED: 0xd,
} as const;

export type Http2ErrorName = keyof typeof HTTP2_ERRORS;

const NAME_BY_CODE: ReadonlyMap<number, Http2ErrorName> = new Map(
  (Object.keys(HTTP2_ERRORS) as Http2ErrorName[]).map((name) => [HTTP2_ERRORS[name], name]),
);

/** The name of a code. One that HTTP/2 does not define counts as INTERNAL_ERROR, as it says. */
export function http2ErrorName(code: number): Http2ErrorName {
  return NAME_BY_CODE.get(code) ?? "INTERNAL_ERROR";
}

/** The peer broke a rule of HTTP/2 that concerns the whole connection. */
export class Http2ProtocolError extends Error {
  override readonly name = "Http2ProtocolError";
  readonly code: Http2ErrorName;

  constructor(code: Http2ErrorName, message: string) {
    super(message);
    this.code = code;
  }
}
