import { describe, expect, it } from "vitest";
import { createMetadata } from "./metadata.ts";
import { isNodeClient, limitErrorSize } from "./node-limits.ts";
import { STATUS_DETAILS_KEY } from "./status-details.ts";

const status = (text: string, metadata: Record<string, string | Uint8Array> = {}) => ({
  code: 2,
  details: text,
  metadata: createMetadata(metadata),
});

describe("fitForNode", () => {
  it("leaves a status alone that fits", () => {
    const fits = status("text", { [STATUS_DETAILS_KEY]: new Uint8Array(40_000) });
    expect(limitErrorSize(fits)).toBe(fits);
  });

  it("leaves out details first", () => {
    const { code, details, metadata } = limitErrorSize(
      status("text", { [STATUS_DETAILS_KEY]: new Uint8Array(50_000), "x-trailer": "t" }),
    );
    expect(code).toBe(2);
    expect(details).toBe("text (details of 50000 bytes left out: too large for the client)");
    expect(metadata.toJSON()).toEqual({ "x-trailer": ["t"] });
  });

  it("then leaves out all trailers, and then the end of the text", () => {
    const trailers = limitErrorSize(status("text", { "x-large": "t".repeat(70_000) }));
    expect(trailers).toMatchObject({ details: "text" });
    expect(trailers.metadata.toJSON()).toEqual({});
    // Each character takes nine bytes on the wire, and half of a pair is replaced.
    const text = limitErrorSize(status(`${"漢".repeat(4095)}😀${"漢".repeat(8000)}`));
    expect(text.details).toBe(`${"漢".repeat(4095)}\uFFFD (cut off)`);
    expect(encodeURI(text.details).length).toBeLessThan(60_000);
  });
});

describe("isNodeClient", () => {
  it("goes by the user agent", () => {
    expect(isNodeClient(createMetadata({ "user-agent": "mine/1 grpc-node-js/1.14.7" }))).toBe(true);
    expect(isNodeClient(createMetadata({ "user-agent": "grpc-go/1.83.0" }))).toBe(false);
    expect(isNodeClient(createMetadata())).toBe(false);
  });
});
