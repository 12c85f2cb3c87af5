import { describe, expect, it } from "vitest";
import { explainBuildOutput } from "./build-failure.ts";

describe("explainBuildOutput", () => {
  it.each([
    'go: example.com/m@v1.0.0: Get "https://proxy/m/@v/v1.0.0.mod": dial tcp: lookup proxy: no such host',
    "go: m@v1: reading https://proxy/m/@v/v1.0.0.zip: 403 Forbidden",
    "go: m@v1: reading https://proxy/m/@v/v1.0.0.mod: 404 Not Found",
    "go: m@v1: verifying module: reading https://sums/lookup/m@v1: 502 Bad Gateway",
    'Get "https://proxy/m": net/http: TLS handshake timeout',
    "go: m@v1: module lookup disabled by GOPROXY=off",
    "fatal: unable to access 'https://host/m/': Could not resolve host: host",
  ])("sees the network in: %s", (line) => {
    expect(explainBuildOutput(`go: downloading x v1\n${line}\n`)).toMatchObject({
      reason: "no-network",
      message: expect.stringContaining(line) as string,
    });
  });

  it("names the first line that says what does not compile", () => {
    const output = "go: downloading x v1.404.0\n# example.com/m\n./main.go:3:5: undefined: y\n";
    expect(explainBuildOutput(output)).toEqual({
      reason: "compile",
      message: "the build failed: ./main.go:3:5: undefined: y",
      output,
    });
  });

  it("has a word for a build that says nothing", () => {
    expect(explainBuildOutput("").message).toBe("the build failed: no output");
  });
});
