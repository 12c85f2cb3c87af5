import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it, vi } from "vitest";
import { Http2Stream } from "../../http2/index.ts";
import { message, ShapesService } from "../../testing/shapes-service.ts";
import { frameMessage } from "./message-reader.ts";
import { ServedCall } from "./served-call.ts";

const { one } = ShapesService;
const HEADERS = [
  [":method", "POST"],
  [":path", one.path],
  ["content-type", "application/grpc"],
] as const;

describe("ServedCall", () => {
  it("keeps no frames without bytes while it waits to be admitted", async () => {
    const admitted = deferred<void>();
    const handler = vi.fn((_request: unknown) => message("answer"));
    const served = { method: one, handler, options: {}, admit: () => admitted.promise };
    const call = new ServedCall({
      methods: new Map([[one.path, served]]),
      maxRequestBytes: 1000,
      maxResponseBytes: 1000,
      peer: "a test",
    });
    const owner = { send: vi.fn(), reset: vi.fn(), update: vi.fn() };
    const stream = new Http2Stream(owner, 65_535, call);
    const release = vi.spyOn(stream, "release");
    call.onRequest(stream, HEADERS, false);
    for (let frame = 0; frame < 100; frame += 1) call.onData(Buffer.alloc(0), false);
    call.onData(frameMessage(one.requestSerialize(message("asked"))), false);
    call.onData(Buffer.alloc(0), true);
    admitted.resolve();
    await vi.waitFor(() => expect(stream.isLocalEnd).toBe(true));
    expect(handler.mock.calls[0]?.[0]).toEqual(message("asked"));
    // Each piece that was kept is released by itself.
    expect(release).toHaveBeenCalledTimes(1);
  });
});
