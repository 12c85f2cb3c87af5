import { expect, it } from "vitest";
import { providerCarrier } from "./provider-carrier.ts";

it.each([
  [undefined, undefined],
  ["", undefined],
  ["frames", "frames"],
  ["grpc-js", "grpc-js"],
])("takes %j as %j", (value, carrier) => {
  expect(providerCarrier({ STACKWRIGHT_PROVIDER_CARRIER: value })).toBe(carrier);
});

it("refuses another word, and says which there are", () => {
  expect(() => providerCarrier({ STACKWRIGHT_PROVIDER_CARRIER: "grpc" })).toThrow(
    expect.objectContaining({
      code: "ENGINE_CONFIG_INVALID",
      message: expect.stringContaining("frames or grpc-js") as string,
    }),
  );
});
