import { describe, expect, it } from "vitest";
import { checkListening, isLoopback } from "./listening-rules.ts";
import { resolveServerOptions } from "./server-options.ts";

describe("a server that other machines reach", () => {
  it.each([
    ["127.0.0.1", true],
    ["127.9.9.9", true],
    ["localhost", true],
    ["LOCALHOST", true],
    ["::1", true],
    ["[::1]", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.1.2", false],
    ["127.0.0.1.example", false],
    ["localhost.example", false],
  ])("is told by its host: %s", (host, only) => {
    expect(isLoopback(host)).toBe(only);
  });

  it("has TLS, or says that it goes without", () => {
    const tls = { certificateFile: "a", keyFile: "b" };
    const check = (options: object) => () =>
      checkListening(resolveServerOptions({ store: "memory:", host: "0.0.0.0", ...options }));
    expect(check({})).toThrow(/0\.0\.0\.0.*--tls-certificate.*--without-tls/);
    expect(check({ withoutTls: false })).toThrow("--without-tls");
    for (const options of [{ tls }, { withoutTls: true }, { host: "127.0.0.1" }]) {
      expect(check(options)).not.toThrow();
    }
  });
});
