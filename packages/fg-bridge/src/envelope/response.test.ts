import { describe, expect, it } from "vitest";
import { isFgBridgeError } from "../errors.ts";
import { encodeResponse, parseResponse } from "./response.ts";

const parse = (value: unknown) =>
  parseResponse(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));

describe("the response envelope", () => {
  it("has the members of the contract and no others by default", () => {
    const body = encodeResponse({ responseData: Buffer.from("x"), error: "" });
    expect(JSON.parse(Buffer.from(body).toString())).toEqual({ response_data: "eA==", error: "" });
  });

  it("comes back as it was sent, with all extensions, compressed or not", () => {
    const response = {
      responseData: Buffer.from("a response"),
      error: "",
      adapter: { name: "a", version: "1", features: ["gzip" as const] },
      outcome: "done" as const,
      schemaDigest: "sha256:1",
      reference: { url: "/results/1", sha256: "a".repeat(64), sizeBytes: 3 },
    };
    for (const encoding of [undefined, "gzip"] as const) {
      const parsed = parseResponse(encodeResponse(response, encoding));
      expect({ ...parsed, responseData: Buffer.from(parsed.responseData) }).toEqual(response);
    }
  });

  it.each([{}, { error: null }, { error: "" }])("takes %j for no error", (rest) => {
    expect(parse({ response_data: "AA==", ...rest })).toMatchObject({ error: "" });
  });

  it("keeps an error that stands beside data, or without any", () => {
    expect(parse({ response_data: "AA==", error: "bad" }).error).toBe("bad");
    expect(parse({ error: "bad" }).error).toBe("bad");
    expect(parse({ response_data: null, error: "bad" }).error).toBe("bad");
  });

  it("leaves out an introduction that is not well-formed", () => {
    const { adapter } = parse({
      response_data: "",
      adapter: { name: 5, features: ["gzip", "x", 7], version: "1" },
    });
    expect(adapter).toEqual({ name: "", version: "1", features: ["gzip"] });
    expect(parse({ response_data: "", adapter: "me", outcome: "maybe" })).not.toHaveProperty(
      "adapter",
    );
  });

  it.each<[string, unknown]>([
    ["nothing", ""],
    ["a page", "<html>Bad gateway</html>"],
    ["an empty object", {}],
    ["null data", { response_data: null }],
    ["data that is an object", { response_data: {} }],
    ["an error that is an object", { response_data: "", error: {} }],
    ["no base64", { response_data: "%%%" }],
    ["an unknown encoding", { response_data: "", response_encoding: "zstd" }],
    ["a name twice", '{"response_data":"AA==","response_data":"AQ=="}'],
    ["a reference without a digest", { response_ref: { url: "/x", size: 1 } }],
    [
      "a reference with a negative size",
      { response_ref: { url: "/", sha256: "a".repeat(64), size: -1 } },
    ],
  ])("refuses %s", (_name, body) => {
    expect(() => parse(body)).toThrow(
      expect.toSatisfy((error) => isFgBridgeError(error, "FG_RESPONSE_INVALID")),
    );
  });
});
