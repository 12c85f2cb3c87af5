import { Mark, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { createRedactor, REDACTED } from "./redactor.ts";

const SECRET = 'hunter2/"quoted"+\nand a second line';

function redactorOf(...secrets: string[]) {
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

describe("the redactor", () => {
  const forms: readonly (readonly [string, (secret: string) => string])[] = [
    ["as it is", (secret) => secret],
    ["in JSON", (secret) => JSON.stringify({ password: secret })],
    ["in JSON within JSON", (secret) => JSON.stringify(JSON.stringify({ password: secret }))],
    ["in a URL", (secret) => `https://x/?p=${encodeURIComponent(secret)}`],
    ["in hexadecimal", (secret) => Buffer.from(secret).toString("hex")],
    ["in base64", (secret) => Buffer.from(secret).toString("base64")],
    ["in base64url", (secret) => Buffer.from(secret).toString("base64url")],
    ["in base64 behind one byte", (secret) => Buffer.from(`a${secret}z`).toString("base64")],
    ["in base64 behind a name", (secret) => Buffer.from(`user:${secret}`).toString("base64")],
    ["in base64 behind two bytes", (secret) => Buffer.from(`ab${secret}yz`).toString("base64")],
  ];

  it.each(forms)("finds a secret %s", (_title, form) => {
    const text = `before ${form(SECRET)} after`;
    const redacted = redactorOf(SECRET).redact(text);
    expect(redacted).toContain(REDACTED);
    for (const part of ["hunter2", "second line", form(SECRET).slice(-20, -4)]) {
      expect(redacted).not.toContain(part);
    }
    expect(redacted.startsWith("before ") && redacted.endsWith(" after")).toBe(true);
  });

  it.each([
    ["in a query", "p%40ss+w%2Frd%21%28%2Bx%3A%26%29"],
    ["with all signs as numbers", "p%40ss%20w%2Frd%21%28%2Bx%3A%26%29"],
    ["as the password of a user", "p%40ss%20w%2Frd%21%28+x%3A&%29"],
    ["as one part of a path", "p@ss%20w%2Frd%21%28+x:&%29"],
    ["as a path", "p@ss%20w/rd%21%28+x:&%29"],
  ])("finds a secret in the address of an error %s, as programs in Go write it", (_title, form) => {
    const redacted = redactorOf("p@ss w/rd!(+x:&)").redact(`Get "https://x/${form}": EOF`);
    expect(redacted).toBe(`Get "https://x/${REDACTED}": EOF`);
  });

  it("finds the long lines of a secret with several", () => {
    const key = "-----BEGIN-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END-----";
    expect(redactorOf(key).redact("line: MIIEvQIBADANBgkqhkiG9w0B!")).toBe(`line: ${REDACTED}!`);
  });

  it("finds what is very long, as it is and in JSON", () => {
    const long = Array.from({ length: 60_000 }, (_, index) => `${index}`).join("\n");
    const redactor = redactorOf(long);
    expect(redactor.redact(`<${long}>`)).toBe(`<${REDACTED}>`);
    expect(redactor.redact(JSON.stringify([long]))).toBe(`["${REDACTED}"]`);
  });

  it("leaves nothing of secrets that overlap", () => {
    const redactor = redactorOf("abcdef", "defghi", "abcd");
    expect(redactor.redact("xabcdefghix abcd y")).toBe(`x${REDACTED}x ${REDACTED} y`);
  });

  it("leaves everything else as it is", () => {
    const redactor = redactorOf("(a+)+$", "x");
    expect(redactor.redact("aaaa (a+)+ x")).toBe("aaaa (a+)+ x");
    expect(redactor.redact("(a+)+$")).toBe(REDACTED);
    const data = { n: 1, t: true, nothing: null };
    expect(redactor.redactData(data)).toEqual(data);
  });

  it("knows the sensitive parts of values and nothing else", () => {
    const redactor = createRedactor();
    redactor.addValue(
      Value.object({
        open: Value.string("open text"),
        sealed: Value.object({
          inner: Value.list([Value.string("secret-in-list")]),
          pin: Value.number(123456789),
          port: Value.number(443),
        }).mark(Mark.sensitive),
      }),
    );
    expect(redactor.redact("open text secret-in-list 123456789 443")).toBe(
      `open text ${REDACTED} ${REDACTED} 443`,
    );
  });

  it("reaches into data, keys included", () => {
    const redactor = redactorOf("hunter2");
    const data = { list: ["a hunter2 b"], hunter2: new Map([["k", new Error("hunter2!")]]) };
    expect(JSON.stringify(redactor.redactData(data))).not.toContain("hunter2");
    expect(redactor.redactData(data).list).toEqual([`a ${REDACTED} b`]);
  });
});
