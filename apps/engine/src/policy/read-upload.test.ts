import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { policyBundle } from "../testing/policies/read-policies.ts";
import { tarOf } from "../testing/tar-of.ts";
import { readPolicyUpload } from "./read-upload.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const bundleOf = (files: Record<string, string>) => Uint8Array.from(gzipSync(tarOf(files)));

it("knows modules, bundles and sources by their bytes", () => {
  const bundle = readPolicyUpload(policyBundle());
  expect(bundle).toMatchObject({ format: "bundle", data: bytes("{}\n") });
  const program = "program" in bundle ? bundle.program : bytes("");
  expect(readPolicyUpload(program)).toEqual({ format: "wasm", program });
  const source = bytes("# says no\npackage a.b\n");
  expect(readPolicyUpload(source)).toEqual({
    format: "rego",
    files: new Map([["policy.rego", source]]),
  });
  const sources = readPolicyUpload(bundleOf({ "a/b.rego": "package a", "data.json": "{}", c: "" }));
  expect("files" in sources && [...sources.files.keys()]).toEqual(["a/b.rego", "data.json"]);
});

it("refuses what no policy is made of", () => {
  for (const content of [
    bytes(""),
    bytes("hello"),
    Uint8Array.from([0xff, 0xfe, 0xfd]),
    policyBundle().slice(0, 1_000),
    bundleOf({ "README.md": "" }),
    bundleOf({ "a.wasm": "", "b.wasm": "" }),
    Uint8Array.from(gzipSync(Buffer.alloc(64 * 1024 * 1024))),
  ]) {
    expect(() => readPolicyUpload(content)).toThrow(
      expect.objectContaining({ code: "unprocessable" }),
    );
  }
});
