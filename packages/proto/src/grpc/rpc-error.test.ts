import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { Any } from "../gen/google/protobuf/any.ts";
import { Duration } from "../gen/google/protobuf/duration.ts";
import { Status } from "../gen/google/rpc/status.ts";
import { ErrorResourceInitFailed } from "../gen/pulumirpc/provider.ts";
import { PropertyError } from "../property/errors.ts";
import { structFromJson, structToJson } from "../property/json.ts";
import { collect, SERVER_CARRIERS, shapesOver } from "../testing/shapes-fixture.ts";
import { message } from "../testing/shapes-service.ts";
import { RPC_CODES, rpcCodeOf } from "./codes.ts";
import { RpcError } from "./rpc-error.ts";
import { createDetail, detailType, STATUS_DETAILS_KEY } from "./status-details.ts";

const InitFailed = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);
const DurationDetail = detailType("google.protobuf.Duration", Duration);

describe("codes", () => {
  it("are those of grpc-js", () => {
    for (const [code, { status: number }] of Object.entries(RPC_CODES)) {
      expect(status[number]).toBe(code);
      expect(rpcCodeOf(number)).toBe(code);
    }
    expect(Object.keys(RPC_CODES).length).toBe(16);
  });

  it("of undefined numbers are UNKNOWN", () => {
    expect([0, 17, -1, 1.5].map(rpcCodeOf)).toEqual(["UNKNOWN", "UNKNOWN", "UNKNOWN", "UNKNOWN"]);
  });
});

describe("RpcError.from", () => {
  it("returns an RpcError as it is", () => {
    const error = new RpcError("ABORTED", "x");
    expect(RpcError.from(error)).toBe(error);
  });

  it.each<[string, unknown, Partial<RpcError>]>([
    ["an Error", new Error("x"), { code: "UNKNOWN", rawMessage: "x" }],
    ["text", "x", { code: "UNKNOWN", rawMessage: "x" }],
    ["undefined", undefined, { code: "UNKNOWN", rawMessage: "undefined" }],
    ["an abort", AbortSignal.abort().reason, { code: "CANCELLED" }],
    ["a timeout", new DOMException("late", "TimeoutError"), { code: "DEADLINE_EXCEEDED" }],
    [
      "a property error",
      new PropertyError("PROPERTY_MALFORMED", ["a", 0]),
      { code: "INVALID_ARGUMENT", rawMessage: "property a[0]: malformed value" },
    ],
    [
      "an error of grpc-js",
      Object.assign(new Error("5 NOT_FOUND: gone"), {
        code: 5,
        details: "gone",
        metadata: new Metadata(),
      }),
      { code: "NOT_FOUND", rawMessage: "gone" },
    ],
    [
      "an error with a code of its own",
      Object.assign(new Error("x"), { code: "ENOENT" }),
      { code: "UNKNOWN", rawMessage: "x" },
    ],
  ])("converts %s", (_, thrown, expected) => {
    const error = RpcError.from(thrown);
    expect(error).toMatchObject(expected);
    expect(error.message).toBe(`${error.code}: ${error.rawMessage}`);
    expect(error.cause).toBe(thrown);
  });

  it("takes a code for what has none", () => {
    expect(RpcError.from(new Error("x"), "INTERNAL").code).toBe("INTERNAL");
  });
});

describe.each(SERVER_CARRIERS)("details over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  const failed: ErrorResourceInitFailed = {
    id: "i-1",
    properties: structFromJson({ size: 3 }),
    reasons: ["not ready", "“weird”"],
    inputs: undefined,
    refreshBeforeUpdate: true,
  };

  it("travel to the client, typed and in order", async () => {
    await using fixture = await connectShapes({
      one: () => {
        throw new RpcError("UNKNOWN", "partly", {
          details: [
            createDetail(InitFailed, failed),
            createDetail(DurationDetail, { seconds: 5n, nanos: 7 }),
          ],
        });
      },
    });
    const error = await fixture.client.one(message("")).catch(RpcError.from);
    expect(error).toBeInstanceOf(RpcError);
    if (!(error instanceof RpcError)) return;
    expect(error.details.map((detail) => detail.typeUrl)).toEqual([
      "type.googleapis.com/pulumirpc.ErrorResourceInitFailed",
      "type.googleapis.com/google.protobuf.Duration",
    ]);
    const [found] = error.findDetails(InitFailed);
    expect(found).toMatchObject({ id: "i-1", reasons: failed.reasons, refreshBeforeUpdate: true });
    expect(structToJson(found!.properties!)).toEqual({ size: 3 });
    expect(error.findDetails(DurationDetail)).toMatchObject([{ seconds: 5n, nanos: 7 }]);
    expect(error.metadata.get(STATUS_DETAILS_KEY)).toEqual([]);
  });

  it("come in a google.rpc.Status with the code and text of the error", () => {
    const error = new RpcError("NOT_FOUND", "gone", {
      details: [createDetail(DurationDetail, { seconds: 1n, nanos: 0 })],
    });
    const [bytes] = error.toStatus().metadata.get(STATUS_DETAILS_KEY);
    expect(Status.decode(bytes as Buffer)).toMatchObject({
      code: 5,
      message: "gone",
      details: [{ typeUrl: "type.googleapis.com/google.protobuf.Duration" }],
    });
  });

  it("are passed on byte by byte, with code, text and trailers", async () => {
    const original = Buffer.concat([
      Status.encode({ code: 9, message: "other text", details: [] }).finish(),
      // A field that this version of Status does not have.
      Buffer.from([0xa0, 0x06, 0x2a]),
    ]);
    const metadata = { "x-trailer": "t", [STATUS_DETAILS_KEY]: original };
    await using backend = await connectShapes({
      receive: () => {
        throw new RpcError("INTERNAL", "a text", { metadata });
      },
    });
    await using front = await connectShapes({
      receive: (request, { signal }) => backend.client.receive(request, { signal }),
    });
    const error = await collect(front.client.receive(message(""))).catch(RpcError.from);
    expect(error).toMatchObject({ code: "INTERNAL", rawMessage: "a text" });
    const trailers = (error as RpcError).toStatus().metadata;
    expect(trailers.get("x-trailer")).toEqual(["t"]);
    expect(trailers.get(STATUS_DETAILS_KEY)).toEqual([original]);
  });

  it("of forty kilobytes arrive; larger ones are left out for a client in Node", async () => {
    const detail = (size: number) =>
      createDetail(detailType("google.protobuf.Any", Any), message("large", size));
    await using fixture = await connectShapes({
      one: ({ typeUrl }) => {
        const details = [detail(Number(typeUrl))];
        throw new RpcError("UNKNOWN", "large", { details, metadata: { "x-trailer": "t" } });
      },
    });
    const call = async (size: number) => {
      const error = await fixture.client.one(message(`${size}`)).catch(RpcError.from);
      if (!(error instanceof RpcError)) throw new Error("expected an error");
      return error;
    };
    const fits = await call(40_000);
    expect(fits.details).toEqual([
      { typeUrl: expect.anything(), value: Buffer.from(detail(40_000).value) },
    ]);
    const tooLarge = await call(1024 * 1024);
    expect(tooLarge).toMatchObject({ code: "UNKNOWN", details: [] });
    expect(tooLarge.rawMessage).toMatch(/^large \(details of \d+ bytes left out/);
    expect(tooLarge.metadata.get("x-trailer")).toEqual(["t"]);
  });

  it("that are malformed do not hide the error", () => {
    const metadata = { [STATUS_DETAILS_KEY]: Uint8Array.of(0xff, 0xff) };
    const error = new RpcError("ABORTED", "x", { metadata });
    expect(error.details).toEqual([]);
    const typed = { typeUrl: "a/google.protobuf.Duration", value: Uint8Array.of(0xff) };
    expect(new RpcError("ABORTED", "x", { details: [typed] }).findDetails(DurationDetail)).toEqual(
      [],
    );
  });
});

describe.each(SERVER_CARRIERS)("the text of an error over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  it("of a megabyte is cut off for a client in Node, and other calls continue", async () => {
    await using fixture = await connectShapes({
      one: () => {
        throw new RpcError("ABORTED", "漢".repeat(1024 * 1024));
      },
      receive: async function* ({ typeUrl }) {
        yield message(typeUrl);
        await new Promise((resolve) => setTimeout(resolve, 50));
        yield message("end");
      },
    });
    const responses = fixture.client.receive(message(""));
    await responses.next();
    const error = await fixture.client.one(message("")).catch(RpcError.from);
    expect(error).toMatchObject({ code: "ABORTED", rawMessage: `${"漢".repeat(4096)} (cut off)` });
    expect(await responses.next()).toEqual({ done: false, value: message("end") });
  });

  it("may be anything", async () => {
    const text = `\ud800 ${"é".repeat(2000)}\u0000\n%41`;
    await using fixture = await connectShapes({
      one: () => {
        throw new RpcError("ABORTED", text);
      },
    });
    await expect(fixture.client.one(message(""))).rejects.toMatchObject({
      code: "ABORTED",
      rawMessage: text.toWellFormed(),
    });
  });
});
