import { describe, expect, test } from "vitest";
import { assertAgreement } from "./testing/agreement.ts";
import { compileProtos, filesOf, messagesOf } from "./testing/descriptors.ts";
import { GENERATED_MODULES } from "./testing/generated-modules.ts";
import { protobufjsPeer } from "./testing/protobufjs-peer.ts";
import { RandomMessages } from "./testing/random-message.ts";

const registry = compileProtos();
const random = new RandomMessages();

test("every proto package is compared", () => {
  const packages = new Set([...registry.files].map((file) => file.proto.package));
  packages.delete("google.protobuf");
  expect(Object.keys(GENERATED_MODULES).toSorted()).toEqual([...packages].toSorted());
});

describe.each(Object.entries(GENERATED_MODULES))(
  "%s and protobufjs agree on",
  async (name, module) => {
    const peer = await protobufjsPeer(filesOf(registry, name).map((file) => `${file.name}.proto`));

    test.each(messagesOf(registry, name).map((desc) => [desc.typeName, desc] as const))(
      "%s",
      (_, desc) => assertAgreement(module, desc, peer, random),
    );
  },
);
