import {
  ApplyResourceChange_Request,
  ApplyResourceChange_Response,
  Configure_Response,
  PlanResourceChange_Response,
} from "@stackwright/proto/tfplugin5";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GRPC_STATUSES } from "../errors.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { formatGrpcError, parseGrpcError } from "./grpc-text.ts";
import { METHODS, methodByPath } from "./methods.ts";
import { encodeRequest, parseRequest } from "./request.ts";
import { encodeResponse, parseResponse } from "./response.ts";
import { configureFailure, readFields, unchangedObject, writeField } from "./wire.ts";

const bytes = fc.uint8Array({ maxLength: 4096 });

describe("the envelope", () => {
  it("carries any bytes both ways unchanged", () => {
    fc.assert(
      fc.property(
        bytes,
        bytes,
        fc.string(),
        fc.constantFrom(undefined, "gzip" as const),
        (requestData, configData, sessionId, encoding) => {
          const sent = { methodName: "m", requestData, sessionId, configData, extensions: {} };
          const got = parseRequest(encodeRequest(sent, encoding));
          expect(Buffer.compare(got.requestData, requestData)).toBe(0);
          expect(Buffer.compare(got.configData, configData)).toBe(0);
          expect(got.sessionId).toBe(sessionId);
          const back = parseResponse(
            encodeResponse({ responseData: requestData, error: "" }, encoding),
          );
          expect(Buffer.compare(back.responseData, requestData)).toBe(0);
        },
      ),
    );
  });

  it("decodes what is base64 and nothing else", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[AZaz09+/_= \n%-]*$/), (text) => {
        const decoded = decodeBase64(text);
        if (decoded === undefined) return;
        const normal = text.replaceAll("-", "+").replaceAll("_", "/").replaceAll("=", "");
        // The bits that no byte needs may be anything; all others must come back.
        const back = encodeBase64(decoded).replaceAll("=", "");
        expect(back.slice(0, -1)).toBe(normal.slice(0, -1));
        expect(back.length).toBe(normal.length);
      }),
    );
  });

  it("knows exactly its 13 methods", () => {
    expect(METHODS).toHaveLength(13);
    for (const { path } of METHODS) {
      expect(methodByPath(path)?.path).toBe(path);
      for (const near of [path.toLowerCase(), `${path} `, path.slice(1), `${path}/`, `/${path}`]) {
        expect(methodByPath(near)).toBeUndefined();
      }
    }
    for (const path of [
      "/tfplugin5.Provider/GetMetadata",
      "/tfplugin5.Provider/GetProviderSchema",
      "/tfplugin6.Provider/GetProviderSchema",
      "/tfplugin5.Provisioner/GetSchema",
      "/plugin.GRPCBroker/StartStream",
      "__proto__",
      "",
    ]) {
      expect(methodByPath(path)).toBeUndefined();
    }
  });

  it("reads every status back from the text of an error", () => {
    for (const status of GRPC_STATUSES.filter((s) => s !== "OK")) {
      expect(parseGrpcError(formatGrpcError(status, "it failed: code = x"))).toEqual({
        status,
        description: "it failed: code = x",
      });
    }
    expect(parseGrpcError("plain").status).toBe("UNKNOWN");
    expect(parseGrpcError("rpc error: code = OK desc = x").status).toBe("UNKNOWN");
    expect(parseGrpcError("rpc error: code = Code(14) desc = x").status).toBe("UNAVAILABLE");
    expect(parseGrpcError("14 UNAVAILABLE: x").status).toBe("UNKNOWN");
  });
});

describe("moving the diagnostics of a configuration", () => {
  const diagnostic = (severity: 1 | 2) => ({
    severity,
    summary: "bad",
    detail: "very",
    attribute: { steps: [{ selector: { $case: "attributeName" as const, value: "token" } }] },
  });

  it("keeps all of them when one is an error", () => {
    const reply = Configure_Response.encode(
      Configure_Response.fromPartial({ diagnostics: [diagnostic(2), diagnostic(1)] }),
    ).finish();
    const moved = configureFailure(reply, 4);
    if (moved === undefined) throw new Error("nothing was moved");
    const plan = PlanResourceChange_Response.decode(moved);
    expect(plan.diagnostics.map(({ severity }) => severity)).toEqual([2, 1]);
    expect(plan.diagnostics[1]?.attribute?.steps[0]?.selector?.value).toBe("token");
  });

  it("says that an object which was not applied is as it was", () => {
    const request = ApplyResourceChange_Request.encode(
      ApplyResourceChange_Request.fromPartial({
        typeName: "t",
        priorState: { msgpack: Buffer.from("prior") },
        plannedState: { msgpack: Buffer.from("planned") },
        plannedPrivate: Buffer.from("private"),
      }),
    ).finish();
    const response = ApplyResourceChange_Response.decode(unchangedObject(request));
    expect(Buffer.from(response.newState?.msgpack ?? []).toString()).toBe("prior");
    expect(Buffer.from(response.private).toString()).toBe("private");
  });

  it("lets warnings pass, and what is no message", () => {
    const warning = Configure_Response.encode(
      Configure_Response.fromPartial({ diagnostics: [diagnostic(2)] }),
    ).finish();
    expect(configureFailure(warning, 4)).toBeUndefined();
    expect(configureFailure(new Uint8Array([0xff, 0xff]), 4)).toBeUndefined();
  });

  it("never reads beyond a message", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (message) => {
        for (const field of readFields(message) ?? []) {
          expect(field.bytes?.length ?? 0).toBeLessThanOrEqual(message.length);
        }
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 28 }), bytes, (number, content) => {
        const [field] = readFields(writeField(number, content)) ?? [];
        expect(field?.number).toBe(number);
        expect(Buffer.compare(field?.bytes ?? Buffer.of(1), content)).toBe(0);
      }),
    );
  });
});
