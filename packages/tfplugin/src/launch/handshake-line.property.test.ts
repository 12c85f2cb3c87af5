import { X509Certificate } from "node:crypto";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TfpluginError } from "../errors.ts";
import { chooseProtocol, formatHandshake, readClientRequirements } from "../serve/handshake.ts";
import { parseHandshakeLine } from "./handshake-line.ts";
import { COOKIE_NAME, COOKIE_VALUE } from "./plugin-protocol.ts";

const CERTIFICATE = String(createSelfSignedIdentity().certificate);

describe("the line of the handshake", () => {
  it.each([5, 6] as const)("is read as it is written, for protocol %i", (protocol) => {
    for (const address of [{ socketPath: "/tmp/x/plugin" }, { host: "127.0.0.1", port: 10_000 }]) {
      for (const certificate of [CERTIFICATE, undefined]) {
        const read = parseHandshakeLine(formatHandshake({ protocol, address, certificate }));
        expect(read.protocol).toBe(protocol);
        expect(read.address).toEqual(address);
        const raw = read.certificate && new X509Certificate(read.certificate).raw;
        expect(raw).toEqual(certificate && new X509Certificate(certificate).raw);
      }
    }
  });

  it("may have a field more, which is for newer clients", () => {
    expect(parseHandshakeLine("1|6|tcp|[::1]:1234|grpc||true\r\n")).toEqual({
      protocol: 6,
      address: { host: "::1", port: 1234 },
      certificate: undefined,
    });
  });

  it("that is anything else is refused with one of our errors", () => {
    const field = fc.oneof(
      fc.constantFrom(
        "1",
        "5",
        "6",
        "unix",
        "tcp",
        "grpc",
        "/x",
        "127.0.0.1:70000",
        "A".repeat(99),
      ),
      fc.string(),
    );
    const line = fc.array(field, { maxLength: 8 }).map((parts) => parts.join("|"));
    fc.assert(
      fc.property(line, (text) => {
        try {
          expect([5, 6]).toContain(parseHandshakeLine(text).protocol);
        } catch (error) {
          expect(error).toBeInstanceOf(TfpluginError);
        }
      }),
    );
  });
});

describe("what a client wishes", () => {
  it("is nothing where there is no cookie", () => {
    expect(() => readClientRequirements({})).toThrow(
      expect.objectContaining({ code: "TFPLUGIN_NOT_LAUNCHED" }),
    );
    expect(() => readClientRequirements({ [COOKIE_NAME]: "x" })).toThrow(TfpluginError);
    expect(readClientRequirements({ [COOKIE_NAME]: COOKIE_VALUE }).protocols).toBeUndefined();
  });

  it.each([
    ["5,6", [5, 6], 6],
    ["6,5", [5], 5],
    ["5", [5, 6], 5],
    ["7", [5, 6], 5],
    ["4", [6], 6],
    [undefined, [5, 6], 5],
  ] as const)("of versions %s, with ours %j, gives %i", (versions, offered, expected) => {
    const wishes = readClientRequirements({
      [COOKIE_NAME]: COOKIE_VALUE,
      PLUGIN_PROTOCOL_VERSIONS: versions,
    });
    expect(chooseProtocol(wishes, offered)).toBe(expected);
  });
});
