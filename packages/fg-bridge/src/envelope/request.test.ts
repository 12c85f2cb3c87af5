import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { FgBridgeError } from "../errors.ts";
import { type EnvelopeRequest, encodeRequest, parseRequest } from "./request.ts";

const plain: EnvelopeRequest = {
  methodName: "/tfplugin5.Provider/ReadResource",
  requestData: Buffer.from("request"),
  sessionId: "s-1",
  configData: Buffer.from("config"),
  extensions: {},
};

function refusal(body: unknown): FgBridgeError {
  const bytes =
    body instanceof Uint8Array
      ? body
      : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  try {
    parseRequest(bytes);
  } catch (error) {
    if (error instanceof FgBridgeError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

const good = {
  method_name: "m",
  request_data: "",
  context: { session_id: "s", config_data: "" },
};

describe("the request envelope", () => {
  it("has the members of the contract and no others by default", () => {
    expect(JSON.parse(Buffer.from(encodeRequest(plain)).toString())).toEqual({
      method_name: "/tfplugin5.Provider/ReadResource",
      request_data: Buffer.from("request").toString("base64"),
      context: { session_id: "s-1", config_data: Buffer.from("config").toString("base64") },
    });
  });

  it("comes back as it was sent, with all extensions, compressed or not", () => {
    const full: EnvelopeRequest = {
      ...plain,
      extensions: {
        callId: "op-1",
        attempt: 2,
        epoch: 2n ** 63n,
        accept: ["gzip", "journal"],
        schemaDigest: "sha256:00",
        deadlineMs: 1000,
      },
    };
    for (const encoding of [undefined, "gzip"] as const) {
      const parsed = parseRequest(encodeRequest(full, encoding));
      expect(Buffer.from(parsed.requestData).toString()).toBe("request");
      expect(Buffer.from(parsed.configData).toString()).toBe("config");
      expect(parsed.extensions).toEqual(full.extensions);
    }
  });

  it("takes an empty payload for zero bytes, and a missing configuration for none", () => {
    for (const context of [
      { session_id: "" },
      { session_id: "", config_data: null },
      { session_id: "", config_data: "" },
    ]) {
      const parsed = parseRequest(Buffer.from(JSON.stringify({ ...good, context })));
      expect([parsed.requestData.length, parsed.configData.length]).toEqual([0, 0]);
    }
  });

  it("ignores members that it does not know", () => {
    const body = { ...good, extra: 1, context: { ...good.context, extra: { a: [1] } } };
    expect(parseRequest(Buffer.from(JSON.stringify(body))).methodName).toBe("m");
  });

  it("accepts both alphabets of base64, with padding or without", () => {
    for (const text of ["+/8=", "+/8", "-_8=", "-_8"]) {
      const body = { ...good, request_data: text };
      expect([...parseRequest(Buffer.from(JSON.stringify(body))).requestData]).toEqual([251, 255]);
    }
  });

  it.each<[string, unknown]>([
    ["nothing", ""],
    ["no JSON", "{"],
    ["an array", "[]"],
    ["a text", '"x"'],
    ["a byte order mark", `\ufeff${JSON.stringify(good)}`],
    [
      "invalid UTF-8",
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]),
    ],
    ["text behind the object", `${JSON.stringify(good)} {}`],
    ["a name twice", '{"method_name":"a","method_name":"b"}'],
    ["a name twice, once escaped", '{"method_name":"a","method_nam\\u0065":"b"}'],
    ["a name twice in the context", '{"context":{"session_id":"a","session_id":"b"}}'],
    ["deep nesting", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["no method", { ...good, method_name: undefined }],
    ["a method that is a number", { ...good, method_name: 1 }],
    ["no request data", { ...good, request_data: undefined }],
    ["request data null", { ...good, request_data: null }],
    ["no context", { ...good, context: undefined }],
    ["a context that is a list", { ...good, context: [] }],
    ["no session", { ...good, context: { config_data: "" } }],
    ["an endless session", { ...good, context: { session_id: "s".repeat(1025) } }],
    [
      "a configuration that is an object",
      { ...good, context: { session_id: "", config_data: {} } },
    ],
    ["white space in base64", { ...good, request_data: "AA AA" }],
    ["mixed alphabets", { ...good, request_data: "+_8=" }],
    ["half padding", { ...good, request_data: "AA=" }],
    ["padding in the middle", { ...good, request_data: "AA==AA==" }],
    ["one digit too many", { ...good, request_data: "AAAAA" }],
    ["an unknown encoding", { ...good, context: { ...good.context, request_encoding: "br" } }],
    [
      "gzip that is none",
      { ...good, request_data: "AAAA", context: { ...good.context, request_encoding: "gzip" } },
    ],
    ["an empty call id", { ...good, context: { ...good.context, call_id: "" } }],
    ["a call id that is a number", { ...good, context: { ...good.context, call_id: 5 } }],
    ["a negative attempt", { ...good, context: { ...good.context, attempt: -1 } }],
    ["an epoch with a sign", { ...good, context: { ...good.context, epoch: "-1" } }],
    ["an epoch that is a number", { ...good, context: { ...good.context, epoch: 1 } }],
    ["accept that is a text", { ...good, context: { ...good.context, accept: "gzip" } }],
  ])("refuses %s", (_name, body) => {
    const error = refusal(body);
    expect(error.code).toBe("FG_ENVELOPE_INVALID");
    expect(error.outcome).toBe("not-applied");
  });

  it("refuses a body over the limit before it looks into it", () => {
    const error = refusal(Buffer.alloc(6 * 1024 * 1024 + 1, 0x20));
    expect(error.code).toBe("FG_REQUEST_TOO_LARGE");
    expect(error.limitBytes).toBe(6 * 1024 * 1024);
  });

  it("refuses a small body that would grow without measure", () => {
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024)).toString("base64");
    const context = { ...good.context, request_encoding: "gzip" };
    expect(refusal({ ...good, request_data: bomb, context }).code).toBe("FG_REQUEST_TOO_LARGE");
  });

  it("never quotes what it refuses", () => {
    for (const body of [
      '{"context":{"config_data":"c2VjcmV0IHRleHQ" secret}}',
      { ...good, context: { session_id: "s", config_data: "top secret!" } },
    ]) {
      expect(refusal(body).message).not.toMatch(/secret|c2Vj/);
    }
  });
});
