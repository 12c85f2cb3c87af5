import * as t6 from "@stackwright/proto/tfplugin6";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textField } from "./message-name.ts";

describe("textField", () => {
  it("finds the name that the whole message has", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.uint8Array(), (source, target, bytes) => {
        const message = t6.MoveResourceState_Request.fromPartial({
          sourceTypeName: source,
          targetTypeName: target,
          sourceSchemaVersion: 3n,
          sourcePrivate: bytes,
          sourceState: { json: bytes },
        });
        const encoded = t6.MoveResourceState_Request.encode(message).finish();
        const decoded = t6.MoveResourceState_Request.decode(encoded);
        expect(textField(encoded, 5)).toBe(decoded.targetTypeName);
        expect(textField(encoded, 2)).toBe(decoded.sourceTypeName);
      }),
    );
  });

  it("comes to an end with any bytes: a text or an error", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        try {
          expect(typeof textField(bytes, 1)).toBe("string");
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });
});
