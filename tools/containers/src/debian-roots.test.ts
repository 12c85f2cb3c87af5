import { describe, expect, it } from "vitest";
import { debianMirror, debianSuite } from "./debian-roots.ts";

describe("debianSuite", () => {
  it.each([
    ["the machine's own", 'NAME="Debian"\nVERSION_CODENAME=trixie\nID=debian\n', "trixie"],
    ["a fixed one elsewhere", 'ID=ubuntu\nVERSION_CODENAME="noble"\n', "bookworm"],
    ["a fixed one where there is none", "ID=debian\n", "bookworm"],
  ])("is %s", (_, text, suite) => {
    expect(debianSuite(text)).toBe(suite);
  });
});

describe("debianMirror", () => {
  it.each([
    ["of one line", "deb [signed-by=/k] http://mirror.example/debian sid main\n"],
    ["of several lines", "Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\n"],
    [
      "after others",
      "deb https://other.example/apt x main\ndeb http://mirror.example/debian sid main\n",
    ],
  ])("reads a source %s", (_, text) => {
    expect(debianMirror(text)).toBe("http://mirror.example/debian");
  });

  it("leaves the choice open without a source of Debian", () => {
    expect(
      debianMirror("deb https://other.example/apt x main\n# deb http://m.example/debian\n"),
    ).toBe(undefined);
  });
});
