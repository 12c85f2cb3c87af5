import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cacheFolder } from "./cache-folder.ts";

describe("cacheFolder", () => {
  it.each([
    ["our own variable first", { STACKWRIGHT_TOOLS_CACHE: "/a", XDG_CACHE_HOME: "/b" }, "/a"],
    ["then the user's cache folder", { XDG_CACHE_HOME: "/b" }, "/b/stackwright/tools"],
    ["not a relative one", { XDG_CACHE_HOME: "b" }, join(homedir(), ".cache/stackwright/tools")],
    ["else ~/.cache", {}, join(homedir(), ".cache/stackwright/tools")],
  ])("takes %s", (_, env, folder) => {
    expect(cacheFolder(env)).toBe(folder);
  });
});
