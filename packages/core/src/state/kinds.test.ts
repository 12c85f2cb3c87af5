import type { Resource } from "@stackwright/storage";
import { expect, it } from "vitest";
import {
  decodeKind,
  memberId,
  memberPrefix,
  objectMember,
  revisionMember,
  STATE_KINDS,
  stackResourceId,
  stackTenancy,
  typeUrl,
} from "./kinds.ts";

const STACK = { account: "acme", project: "shop", stack: "S1" };
const CODEC = {
  encode: (text: string) => ({ finish: () => Buffer.from(text) }),
  decode: (bytes: Uint8Array) => {
    if (bytes.length === 0) throw new RangeError("it is empty");
    return Buffer.from(bytes).toString();
  },
};

function resource(data: Resource["data"], groupVersion = "v1"): Resource {
  const type = { ...STATE_KINDS.head, groupVersion };
  return {
    id: { uid: "U", name: "S1", type, tenancy: stackTenancy(STACK) },
    version: "1",
    generation: "g",
    metadata: {},
    status: {},
    ...(data !== undefined && { data }),
  };
}

const URL = "type.googleapis.com/stackwright.v1.StackHead";
const corrupt = (message: string) =>
  expect.objectContaining({ code: "ENGINE_STATE_CORRUPT", message }) as Error;

it("resources of a stack are named after it, those of its members behind a dot", () => {
  expect(stackResourceId(STACK, STATE_KINDS.head)).toEqual({
    uid: "",
    name: "S1",
    type: { group: "stackwright", groupVersion: "v1", kind: "StackHead" },
    tenancy: { partition: "acme", peerName: stackTenancy(STACK).peerName, namespace: "shop" },
  });
  expect(memberId(STACK, STATE_KINDS.run, "R1").name).toBe("S1.R1");
  expect(memberPrefix(STACK)).toBe("S1.");
});

it("names of revisions sort as the revisions do", () => {
  expect(revisionMember(7n)).toBe("00000000000000000007");
  expect(revisionMember(9n) < revisionMember(10n)).toBe(true);
});

// The names of what is stored must never change.
it.each([
  [{ address: "t.a", deposed: "" }, "aqtb4klrhee5kmvf7g53ojspb5dnwcfhmfwrjwwnmysyhlhnpgha"],
  [{ address: "t.a", deposed: "0123abcd" }, "q54252hvtt5my72vtnr4rgdocuak543pneuplqlo7vxv2mhm2u6a"],
])("the name of the object %o is %s", (key, name) => {
  expect(objectMember(key)).toBe(name);
});

it("a message is read where it is of the type", () => {
  const found = resource({ typeUrl: URL, value: Buffer.from("x") });
  expect(typeUrl(STATE_KINDS.head)).toBe(URL);
  expect(decodeKind(found, CODEC)).toBe("x");
});

it.each([
  [undefined, '"S1" holds nothing'],
  [{ typeUrl: "other", value: new Uint8Array() }, '"S1" holds other'],
  [{ typeUrl: URL, value: new Uint8Array() }, '"S1" is not a valid StackHead'],
])("a resource with %o is refused", (data, message) => {
  expect(() => decodeKind(resource(data), CODEC)).toThrow(corrupt(message));
});

it("a message of a neighbouring release is read with its converter, and refused without", () => {
  const found = resource({ typeUrl: "other", value: new Uint8Array() }, "v2");
  const converters = new Map([["v2", () => Buffer.from("converted")]]);
  expect(decodeKind(found, CODEC, converters)).toBe("converted");
  const message = '"S1" is stored as StackHead v2, which this release does not know';
  expect(() => decodeKind(found, CODEC)).toThrow(corrupt(message));
  expect(() => decodeKind(found, CODEC, new Map())).toThrow(corrupt(message));
});
