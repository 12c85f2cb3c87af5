import { describe, expect, it } from "vitest";
import { bundlePath } from "./bundle-path.ts";

describe("a path in a bundle", () => {
  it("is put in its shortest form", () => {
    expect(["a/./b/../c.txt", "", "a/.."].map((path) => bundlePath(path))).toEqual([
      "a/c.txt",
      ".",
      ".",
    ]);
  });

  it("is refused where it leads out, with what is to be done where the bundle says that", () => {
    expect(() => bundlePath("a/../../b")).toThrow(/out of the template bundle$/);
    expect(() => bundlePath("../b", "upload a folder above")).toThrow(
      "the path leads out of the template bundle; upload a folder above",
    );
  });
});
