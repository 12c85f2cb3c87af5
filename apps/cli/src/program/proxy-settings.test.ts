import { describe, expect, it } from "vitest";
import { CommandError } from "../command-error.ts";
import { bypassesProxy, parseProxies } from "./proxy-settings.ts";

const PROXY = "http://proxy.example:3128";

function bypasses(noProxy: string, origin: string): boolean {
  const settings = parseProxies({ HTTPS_PROXY: PROXY, NO_PROXY: noProxy });
  if (settings === undefined) throw new Error("a proxy is set");
  return bypassesProxy(settings, origin);
}

describe("the variables of proxies", () => {
  it("are none where no proxy is named", () => {
    expect(parseProxies({})).toBeUndefined();
    expect(parseProxies({ HTTPS_PROXY: "", NO_PROXY: "example.com" })).toBeUndefined();
  });

  it("may be written in capitals or not, and without a scheme", () => {
    expect(parseProxies({ https_proxy: "proxy:3128", HTTP_PROXY: PROXY })).toMatchObject({
      https: "http://proxy:3128",
      http: PROXY,
    });
  });

  it.each(["socks5://user:canary@proxy:1", "http://", "http://a b:canary"])(
    "are refused where the proxy is none, without their text: %s",
    (text) => {
      const parse = () => parseProxies({ HTTPS_PROXY: text });
      expect(parse).toThrow(CommandError);
      expect(parse).toThrow(/^The proxy of HTTPS_PROXY is (?!.*canary)/);
    },
  );
});

it.each([
  // This machine is never behind a proxy.
  ["", "http://localhost:7400", true],
  ["", "http://127.0.0.2:7400", true],
  ["", "http://[::1]:7400", true],
  ["", "https://example.com", false],
  ["*", "https://example.com", true],
  ["example.com", "https://example.com", true],
  ["other.org, Example.COM", "https://registry.example.com", true],
  ["example.com", "https://badexample.com", false],
  [".example.com", "https://example.com", false],
  [".example.com", "https://a.example.com", true],
  ["*.example.com", "https://a.b.example.com", true],
  ["example.com:8443", "https://example.com", false],
  ["example.com:443", "https://example.com", true],
  ["10.0.0.0/8", "https://10.1.2.3:7400", true],
  ["10.0.0.0/8", "https://11.1.2.3", false],
  ["10.1.2.3", "https://10.1.2.3:7400", true],
  ["fd00::/8", "https://[fd00::1]", true],
  ["[fd00::1]:7400", "https://[fd00::1]:7400", true],
  ["fd00::1", "https://[fd00::2]", false],
  ["10.0.0.0/99", "https://10.0.0.0", true],
])("NO_PROXY=%s lets %s go directly: %s", (noProxy, origin, is) => {
  expect(bypasses(noProxy, origin)).toBe(is);
});
