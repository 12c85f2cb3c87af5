import { expect, it } from "vitest";
import { refusalOf } from "./job-modules.ts";

const ALLOWED = new Set(["git.example.com", "git.example.com:8443"]);
const why = (url: string, getter = "git") =>
  refusalOf({ kind: "remote", getter, address: url, url, folder: "." }, ALLOWED, ["own.example"]);

it("fetches from allowed hosts, by https alone", () => {
  for (const url of [
    "https://git.example.com/net.git",
    "https://GIT.example.com:443/net.git?ref=v1",
    "https://user:word@git.example.com:8443/net.git",
  ]) {
    expect(why(url)).toBeUndefined();
  }
  expect(why("https://own.example/archives/a.tgz", "https")).toBeUndefined();
  expect(why("https://own.example/net.git")).toContain("from own.example");
  expect(why("https://git.example.com:9443/net.git")).toContain("from git.example.com:9443");
  expect(why("http://git.example.com/net.git")).toContain("by https alone");
});

it.each([
  "https://git.example.com\\@inner.example/net.git",
  "https://git.example.com#@inner.example/net.git",
  "https://git.exam\tple.com/net.git",
  "https:/git.example.com/net.git",
  "https://git.example.com%2f@inner.example@git.example.com/net.git",
])("refuses an address whose host git may read otherwise: %j", (url) => {
  expect(why(url)).toContain("by https alone");
});
