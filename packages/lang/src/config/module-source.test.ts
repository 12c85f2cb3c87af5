import { describe, expect, it } from "vitest";
import {
  formatModuleSource,
  hideCredentials,
  ModuleError,
  parseModuleSource,
} from "./module-source.ts";

describe("parseModuleSource", () => {
  it.each([
    ["./a", "local ./a"],
    ["./a/../b/", "local ./b"],
    ["../../modules/x", "local ../../modules/x"],
    ["..\\x\\y", "local ../x/y"],
    ["./", "local ."],
    ["ns/name/system", "registry registry.terraform.io/ns/name/system ."],
    ["Host.test/ns/name/system//a/b", "registry host.test/ns/name/system a/b"],
    ["host.test:8443/ns/na-me/sys2", "registry host.test:8443/ns/na-me/sys2 ."],
    ["host.test:443/ns/name/system", "registry host.test/ns/name/system ."],
    ["github.com/o/r", "git git::https://github.com/o/r.git ."],
    ["github.com/o/r/a/b", "git git::https://github.com/o/r.git a/b"],
    ["github.com/o/r//a?ref=v1", "git git::https://github.com/o/r.git?ref=v1 a"],
    ["github.com/o/r.git//a", "git git::https://github.com/o/r.git a"],
    ["bitbucket.org/o/r", "git git::https://bitbucket.org/o/r.git ."],
    ["git@github.com:o/r.git//x?ref=v1", "git git::ssh://git@github.com/o/r.git?ref=v1 x"],
    ["git::git@h.test:o/r.git", "git git::ssh://git@h.test/o/r.git ."],
    ["git::https://h.test/r.git//a/b?ref=v1", "git git::https://h.test/r.git?ref=v1 a/b"],
    ["git::file:///r/x.git//a/../b", "git git::file:///r/x.git b"],
    ["git::https://h.test/r.git?ref=feature//x", "git git::https://h.test/r.git?ref=feature//x ."],
    ["https://h.test/a.zip", "https https://h.test/a.zip ."],
    ["https://h.test/a.zip//m?archive=zip", "https https://h.test/a.zip?archive=zip m"],
    ["hg::http://h.test/r", "hg hg::http://h.test/r ."],
    ["/abs/modules//x", "file file:///abs/modules x"],
    ["s3-eu-west-1.amazonaws.com/b/k.zip", "s3 s3::https://s3-eu-west-1.amazonaws.com/b/k.zip ."],
    ["b.s3-eu-west-1.amazonaws.com/k.zip", "s3 s3::https://s3-eu-west-1.amazonaws.com/b/k.zip ."],
    ["b.s3.eu-west-1.amazonaws.com/k.zip", "s3 s3::https://s3.eu-west-1.amazonaws.com/b/k.zip ."],
    [
      "www.googleapis.com/storage/v1/b/k.zip",
      "gcs gcs::https://www.googleapis.com/storage/v1/b/k.zip .",
    ],
  ])("%s", (text, expected) => {
    const source = parseModuleSource(text);
    const parts =
      source.kind === "local"
        ? ["local", source.path]
        : [source.kind === "remote" ? source.getter : "registry", source.address, source.folder];
    expect(parts.join(" ")).toBe(expected);
  });

  it.each([
    "modules/x",
    "pkg",
    "github.com/o",
    "gitlab.com/o/r",
    "me@h.test:o/r",
    "git::https://h.test/r.git//../x",
    "./a//../..".slice(2),
    "",
  ])("rejects %j", (text) => {
    expect(() => parseModuleSource(text)).toThrow(ModuleError);
  });

  it.each([
    "github.com/o/r//a?ref=v1",
    "host.test/ns/name/system//a/b",
    "git::https://h.test/r.git//a/b?ref=v1",
    "./a",
  ])("writes %j in a form that it reads again", (text) => {
    const source = parseModuleSource(text);
    expect(parseModuleSource(formatModuleSource(source))).toEqual(source);
  });
});

describe("hideCredentials", () => {
  it.each([
    ["git::https://me:secret@h.test/r.git", "git::https://me:REDACTED@h.test/r.git"],
    ["git::ssh://git@h.test/r?sshkey=ABC&ref=v1", "git::ssh://git@h.test/r?sshkey=REDACTED&ref=v1"],
    [
      "s3::https://h.test/b?aws_access_key_secret=X&region=y",
      "s3::https://h.test/b?aws_access_key_secret=REDACTED&region=y",
    ],
    ["git::https://ghp_abc@h.test/r.git", "git::https://REDACTED@h.test/r.git"],
    ["https://me:a@b@h.test/r.zip", "https://me:REDACTED@h.test/r.zip"],
    ["https://h.test/r.zip?private_token=X", "https://h.test/r.zip?private_token=REDACTED"],
    ["https://h.test/a:b@c", "https://h.test/a:b@c"],
  ])("%s", (text, expected) => {
    expect(hideCredentials(text)).toBe(expected);
  });
});

it("says that the host of a registry has a dot", () => {
  expect(() => parseModuleSource("localhost:7400/acme/network/aws")).toThrow("a name with a dot");
});
